package inspect

import (
	"context"
	"encoding/json"
	"io"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
)

// DeadLetter is a delivery that a subscription has given up: its event with payload
// and metadata, when and why it died, and every attempt. As JSON it is a line of
// [File.Export].
type DeadLetter = engine.DeadLetter

// FailedAttempt is a failed execution of a handler: when, and with which error.
type FailedAttempt = engine.FailedAttempt

// DeadLetterHistory is a dead letter with the events that it was made from by
// [File.Edit], those that were made from it, and what was done to it.
type DeadLetterHistory = engine.DeadLetterHistory

// FailureGroup is dead letters that failed in the same way: for the same reason, with
// an error of the same type, the same message once ids, numbers, times, addresses and
// quoted texts are taken out of it, and a panic in the same function.
type FailureGroup = engine.FailureGroup

// Schema is what generated code says about the payloads of an event type.
type Schema = engine.Schema

// DeadLetters returns dead letters, those that died last first, and the After of the
// next page. What dies meanwhile does not move the pages that follow.
func (f *File) DeadLetters(ctx context.Context, filter Filter, page Page) (letters []DeadLetter, next string, err error) {
	if err := checkDeadLetters(filter); err != nil {
		return nil, "", err
	}
	if page, err = page.Complete(); err != nil {
		return nil, "", err
	}
	return f.log.DeadLetters(ctx, filter, page, false)
}

// CountDeadLetters returns how many dead letters match.
func (f *File) CountDeadLetters(ctx context.Context, filter Filter) (int, error) {
	if err := checkDeadLetters(filter); err != nil {
		return 0, err
	}
	return f.log.CountDeadLetters(ctx, filter)
}

// DeadLetter returns one dead letter, or a *[NotFoundError] that says what became of
// it.
func (f *File) DeadLetter(ctx context.Context, key Key) (DeadLetterHistory, error) {
	return f.log.DeadLetter(ctx, key)
}

// FailureGroups returns the kinds of failures among the dead letters, the most
// frequent first.
func (f *File) FailureGroups(ctx context.Context, filter Filter) ([]FailureGroup, error) {
	if err := checkDeadLetters(filter); err != nil {
		return nil, err
	}
	groups, err := f.log.FailureGroups(ctx, filter)
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
func (f *File) Schema(ctx context.Context, eventType string) (Schema, error) {
	return f.log.Schema(ctx, eventType)
}

// Export writes dead letters to w, each as one line of JSON (see [DeadLetter]), those
// that died first first, and returns how many. It changes nothing. What dies while it
// runs may be missing.
func (f *File) Export(ctx context.Context, w io.Writer, filter Filter) (n int, err error) {
	if err := checkDeadLetters(filter); err != nil {
		return 0, err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	page := Page{Limit: stepSize}
	for {
		letters, next, err := f.log.DeadLetters(ctx, filter, page, true)
		if err != nil {
			return n, err
		}
		for _, one := range letters {
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
