package dlq

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Edit makes a new event from a dead one, with another payload, for the one
// subscription that had given up on it, due now. It has the type, the
// version and the metadata of the old event, and its id is returned. The old letter is settled
// as discarded, with "edited into" and that id as the reason. In a group of
// handlers, those that have handled the old event do not see the new one.
//
// All of this happens in one transaction, or nothing does: when editing is not
// enabled ([ErrEditingDisabled]), the payload does not pass the check
// (*[InvalidPayloadError]), or there is no such dead letter any more because
// somebody has retried it meanwhile, for example (*[NotFoundError]).
func (i *Inspector) Edit(ctx context.Context, key Key, payload []byte) (uuid.UUID, error) {
	if i.check == nil {
		return uuid.Nil, ErrEditingDisabled
	}
	letter, err := i.find(ctx, key)
	if err != nil {
		return uuid.Nil, err
	}
	err = i.check(letter.Type, letter.Version, payload)
	var compact bytes.Buffer
	if err == nil {
		err = json.Compact(&compact, payload)
	}
	if err != nil {
		return uuid.Nil, &InvalidPayloadError{Key: key, EventType: letter.Type, Err: err}
	}
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, err // the operating system has no random numbers
	}
	err = i.use(func(d *sqlite.DeadLetters) error {
		missing, err := d.Edit(ctx, key.stored(), id, compact.Bytes(), sqlite.AuditEntry{Actor: i.actor})
		if err == nil && missing != "" {
			err = &NotFoundError{Key: key, State: missing}
		}
		return err
	})
	if err != nil {
		return uuid.Nil, err
	}
	return id, nil
}
