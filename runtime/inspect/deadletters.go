package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
)

// DeadLetters returns dead letters, the latest death first, and the After of the next
// page. Deliveries that die meanwhile do not move the pages that follow.
func (f *File) DeadLetters(ctx context.Context, filter event.Filter, page event.Page) (letters []event.DeadLetter, next string, err error) {
	if err := checkDeadLetters(filter); err != nil {
		return nil, "", err
	}
	if page, err = engine.CompletePage(page); err != nil {
		return nil, "", err
	}
	return f.log.DeadLetters(ctx, engine.Filter{Filter: filter}, page, false)
}

// CountDeadLetters returns how many dead letters match.
func (f *File) CountDeadLetters(ctx context.Context, filter event.Filter) (int, error) {
	if err := checkDeadLetters(filter); err != nil {
		return 0, err
	}
	return f.log.CountDeadLetters(ctx, engine.Filter{Filter: filter})
}

// DeadLetter returns one dead letter, or a *[event.NotFoundError] that says what became of
// it.
func (f *File) DeadLetter(ctx context.Context, key event.Key) (event.DeadLetterHistory, error) {
	return f.log.DeadLetter(ctx, key)
}

// FailureGroups returns the kinds of failures among the dead letters, the most
// frequent first.
func (f *File) FailureGroups(ctx context.Context, filter event.Filter) ([]event.FailureGroup, error) {
	if err := checkDeadLetters(filter); err != nil {
		return nil, err
	}
	groups, err := f.log.FailureGroups(ctx, engine.Filter{Filter: filter})
	for i := range groups {
		groups[i].Message = fingerprint.Normalize(groups[i].Message)
	}
	return groups, err
}

// FailureGroupNames returns the fingerprints of the groups that begin with prefix, in
// alphabetical order: all of them for an empty one. It is much cheaper than
// [File.FailureGroups].
func (f *File) FailureGroupNames(ctx context.Context, prefix string) ([]string, error) {
	return f.log.FailureGroupNames(ctx, prefix)
}

// Schema returns the schema of an event type that is stored in the file, or a zero
// Schema: types without generated code have none, and those of a file in which no
// program has been opened since busgen stores schemas. Programs of several versions
// store one each; that of the highest version is returned. It is what
// "busgen dlq edit" checks payloads with if it is given no catalogue.
func (f *File) Schema(ctx context.Context, eventType string) (event.Schema, error) {
	return f.log.Schema(ctx, eventType)
}

// Export writes dead letters to w, each as one line of JSON (see [event.DeadLetter]), the
// oldest death first, and returns how many. It changes nothing. Dead letters that are
// made while it runs may be missing.
func (f *File) Export(ctx context.Context, w io.Writer, filter event.Filter) (n int, err error) {
	if err := checkDeadLetters(filter); err != nil {
		return 0, err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	page := event.Page{Limit: stepSize}
	for {
		letters, next, err := f.stored().DeadLetters(ctx, engine.Filter{Filter: filter}, page, true)
		if err != nil {
			return n, err
		}
		for _, one := range letters {
			if one.PayloadBytes != 0 {
				return n, fmt.Errorf("the payload of dead letter %s has %s, which is too much to be exported: discard it, or leave it out", one.Key, words.Bytes(one.PayloadBytes))
			}
			if err := encoder.Encode(one); err != nil {
				return n, err
			}
			n++
		}
		if page.After = next; next == "" {
			return n, nil
		}
	}
}
