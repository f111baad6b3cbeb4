package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

var errHidden = errors.New("it has " + HiddenValue + ", which stands for a value that is not shown: write the value, or leave it where it was shown")

// Edit makes a new event from a dead letter, with another payload, for the one
// subscription that had given up on it, due now. The new event has the type, the
// version and the metadata of the old one, and Edit returns its id. The old dead letter
// is discarded, with "edited into" and that id as the reason. In a group of handlers,
// the members that have handled the old event do not get the new one.
//
// In the payload for a file that is [File.Hiding], [HiddenValue] may stay where that file shows it: the new event has the
// value of the old one. In a list that holds for items that are as they were shown, at their places.
//
// All of this happens in one transaction. Nothing changes if editing is not enabled
// ([ErrEditingDisabled]), if the payload does not pass the check or has [HiddenValue]
// where the old one has not (*[InvalidPayloadError]), or if the dead letter does not exist any more
// (*[event.NotFoundError]), for example because it was retried meanwhile.
func (f *File) Edit(ctx context.Context, key event.Key, payload []byte) (uuid.UUID, error) {
	if f.check == nil {
		return uuid.Nil, ErrEditingDisabled
	}
	letter, err := f.stored().DeadLetter(ctx, key)
	if err != nil {
		return uuid.Nil, err
	}
	payload, veil, err := f.unhidden(ctx, letter, payload)
	if err == nil {
		if err = f.check(letter.Type, letter.Version, payload); err != nil {
			if veil != nil {
				err = errors.New(veil.Text(err.Error()))
			}
		}
	}
	var compact bytes.Buffer
	if err == nil {
		err = json.Compact(&compact, payload)
	}
	if err != nil {
		return uuid.Nil, &InvalidPayloadError{Key: key, EventType: letter.Type, Err: err}
	}
	id := engine.NewID()
	if err := f.log.EditDeadLetter(ctx, key, id, compact.Bytes()); err != nil {
		return uuid.Nil, err
	}
	return id, nil
}

// unhidden returns a payload with the values of a letter that the file hides, and what hides them in texts.
func (f *File) unhidden(ctx context.Context, letter event.DeadLetterHistory, payload []byte) ([]byte, *privacy.Veil, error) {
	hidden := []byte(HiddenValue)
	if !bytes.Contains(payload, hidden) || bytes.Contains(letter.Payload, hidden) {
		return payload, nil, nil
	}
	v, hides := f.log.(*veiled)
	if !hides || !json.Valid(payload) || !json.Valid(letter.Payload) {
		return payload, nil, errHidden
	}
	shown, veil, err := v.hide(ctx, letter.Type, letter.Version, letter.Payload)
	if err != nil {
		return payload, nil, err
	}
	restored, ok := privacy.Restore(payload, shown, letter.Payload)
	if !ok {
		return payload, nil, errHidden
	}
	return restored, veil, nil
}

// MayEdit tells whether the file was opened [WithEditing].
func (f *File) MayEdit() bool { return f.check != nil }
