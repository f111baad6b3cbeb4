package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
)

// DeadLetter is a delivery that a subscription has given up: its event with payload
// and metadata, when and why it died, and every attempt. As JSON it is a line of
// [File.Export].
//
//	type DeadLetter struct {
//		Key
//		Type    string          // of the event: order.placed
//		Version int             // of the payload
//		Payload json.RawMessage // as stored, unless PayloadBytes says otherwise
//		// PayloadBytes is how many a long payload has, of which Payload is the beginning, as a text; else 0.
//		PayloadBytes int64
//		Metadata     json.RawMessage // an object of strings; nil without
//		PublishedAt  time.Time       // UTC
//		DeadAt       time.Time       // UTC
//		Reason       string          // max_attempts, permanent, decode, crash, expired or max_snoozes
//		Fingerprint  string          // the same for failures of the same kind; see FailureGroup
//		Failures     int             // attempts that count, since it was published or last retried
//		Redriven     int             // how often it was retried automatically since
//		Progress     string          // of a group of handlers: the ones that have handled it
//		// Attempts are the failed executions, oldest first, including those before a
//		// retry.
//		Attempts []FailedAttempt
//	}
//
//	func (d DeadLetter) LastAttempt() FailedAttempt
type DeadLetter = engine.DeadLetter

// FailedAttempt is a failed execution of a handler: when, and with which error.
//
//	type FailedAttempt struct {
//		Kind      string    // one of the Kind constants: error, panic, goexit, timeout, decode, crash or interrupted
//		Started   time.Time // UTC; zero for a crash
//		Ended     time.Time // UTC; of a crash: when it was noticed
//		Error     string    // its text
//		ErrorType string    // the Go type of the error, with a code that it says of itself: *fs.PathError, *exec.ExitError(137)
//		Member    string    // of a group of handlers: the one that failed
//		Stack     string    // of a panic or goexit
//		Log       string    // the last lines that the handler wrote to the event's logger
//	}
type FailedAttempt = engine.FailedAttempt

// DeadLetterHistory is a dead letter with the events from which [File.Edit] made it, the
// events made from it, and the operators' actions on it.
//
//	type DeadLetterHistory struct {
//		DeadLetter
//		MadeFrom   []uuid.UUID  // the events that operators have edited into this one, the nearest first
//		EditedInto []Key        // the events that were made from this one, for other subscriptions
//		Audit      []AuditEntry // what was done to this delivery, alone or with others, oldest first
//	}
type DeadLetterHistory = engine.DeadLetterHistory

// FailureGroup is dead letters that failed in the same way: for the same reason, with
// an error of the same type, the same message once ids, numbers, times, addresses and
// quoted texts are taken out of it, and a panic in the same function. Codes behind words such
// as status, code, exit, errno and SQLSTATE stay, and quoted names of tables and files.
//
//	type FailureGroup struct {
//		Fingerprint   string // for Filter.Group
//		Reason        string
//		ErrorType     string // of the last attempt
//		Message       string // of the last attempt, with placeholders: <id>, <n>, <time>, <addr>, <text>
//		Types         []string
//		Subscriptions []string
//		Count         int
//		First         time.Time // when the first one died; UTC
//		Last          time.Time // when the last one died; UTC
//		Sample        Key       // the last one
//	}
type FailureGroup = engine.FailureGroup

// Schema describes the payloads of an event type, as generated code states it.
//
//	type Schema struct {
//		Version  int       // of the payloads that the program publishes
//		Text     string    // one line of JSON, for busgen; its form may change
//		StoredAt time.Time // when it last changed; UTC
//		Program  string    // the program that stored it: the name of its file, and its version
//	}
type Schema = engine.Schema

// DeadLetters returns dead letters, the latest death first, and the After of the next
// page. Deliveries that die meanwhile do not move the pages that follow.
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

// Export writes dead letters to w, each as one line of JSON (see [DeadLetter]), the
// oldest death first, and returns how many. It changes nothing. Dead letters that are
// made while it runs may be missing.
func (f *File) Export(ctx context.Context, w io.Writer, filter Filter) (n int, err error) {
	if err := checkDeadLetters(filter); err != nil {
		return 0, err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	page := Page{Limit: stepSize}
	for {
		letters, next, err := f.stored().DeadLetters(ctx, filter, page, true)
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
