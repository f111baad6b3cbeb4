package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/plainjson"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

// ErasedValue stands in payloads and texts for what [File.Erase] has erased.
const ErasedValue = privacy.Erased

// Erasure says which person [File.Erase] takes out of a file.
type Erasure struct {
	// Values are what names the person: an e-mail address, a customer's number, a name. An
	// event is about the person if a personal field of its payload, or the field by which it
	// is partitioned, is one of them.
	Values []string
	// Field is a path of keys, such as customer.email. With it, events are about the person if
	// this field is one of the values, whatever the catalogue says of it.
	Field string
	// Types are globs over event types. Without any, all events can be about the person. The
	// texts of all events are erased in any case.
	Types []string
	// Whole leaves nothing of the payloads: every field that must be there gets a value that
	// means nothing. Without it only personal fields do.
	Whole bool
	// CancelOpen cancels the open deliveries of events about the person first, as
	// [File.CancelEvent] does. Without it these events are left alone.
	CancelOpen bool
	DryRun     bool // count, and change nothing
	// KeepSpace does not rewrite the file at the end, which takes its size in free space of
	// the disk and makes publishers wait. What was deleted before stays readable in the space
	// that the file does not use, until SQLite needs that space.
	KeepSpace bool
	// Progress is called after every step with the counts so far, on the goroutine that called
	// the method. It may be nil.
	Progress func(Erased)
}

// Erased counts what [File.Erase] has found and done. After a dry run the counts are those of
// what would be.
//
//	type Erased struct {
//		Events      int // were about the person and are erased
//		DeadLetters int // of these events, now discarded
//		Attempts    int // of these events, whose errors, stacks and logs are erased
//		Texts       int // other texts and keys that had the person in them
//		// Open are events about the person with deliveries that are not settled. They are as
//		// they were.
//		Open int
//		// Mentions are other events whose payload has the person in it, as a word, in a field that
//		// is not known to be personal. They are as they were.
//		Mentions int
//		// Clean says that nothing of what was erased is left in the space that the file does not
//		// use, nor in the write-ahead log.
//		Clean bool
//
//		OpenIDs    []uuid.UUID // of some of the open events
//		MentionIDs []uuid.UUID // of some of the mentions
//	}
type Erased = engine.Erased

// UnsupportedError says that the engine of the log cannot do something that others can. It
// matches [errors.ErrUnsupported].
//
//	type UnsupportedError struct {
//		Engine string // in words: the engine on JetStream
//		What   string // erase a person
//		Hint   string // what to do instead
//	}
type UnsupportedError = engine.UnsupportedError

// Erase takes a person out of the file. Of each event about the person
//
//   - personal fields of the payload are gone if they are optional, and else have a value of
//     their type that means nothing: [ErasedValue], 0, an empty list. Texts that name the person
//     in other fields are erased as well. Of a type without personal fields all fields are; of
//     one without a schema, {} is left.
//   - metadata is gone, but for what the bus itself writes. A correlation id stays if it is a
//     UUID.
//   - errors, stacks and logs of its attempts are gone, and so are its idempotency key and the
//     reasons of discards.
//   - dead letters are discarded, with the reason "erased".
//
// Events that operators have edited into it or made from it, and dead-letter notices, are
// erased with it. In all other texts of the bus, such as errors of other events, metadata,
// reasons and the audit, the values are replaced by [ErasedValue] where they stand as a word
// and have at least three characters. Tables of the program are not touched.
//
// An event with an open delivery is left as it is and counted as open, unless CancelOpen is
// set: a handler that has it would fail, and its error would name the person again. With
// CancelOpen, events whose handlers run at this moment stay open. Erase them with a second
// call, once the handlers are done. Other subscriptions and events do not notice anything.
//
// Erase works in small transactions. When ctx ends or the process dies, each event was erased
// with all that belongs to it, or not at all, and a second call does the rest. The counts are
// right with any error. In the end it rewrites the file and empties the write-ahead log; until
// that is done, Erased.Clean is false. The audit has one entry, which does not name the person.
//
// The engine on JetStream returns an *[UnsupportedError].
func (f *File) Erase(ctx context.Context, e Erasure) (Erased, error) {
	spec, err := f.erasure(ctx, e)
	if err != nil {
		return Erased{}, fmt.Errorf("erase a person: %w", err)
	}
	if !e.CancelOpen || e.DryRun {
		return f.stored().Erase(ctx, spec)
	}
	spec.KeepSpace = true
	all, err := f.stored().Erase(ctx, spec)
	for err == nil && all.Open > 0 {
		cancelled, wrong := f.cancelAll(ctx, all.OpenIDs)
		if wrong != nil || cancelled == 0 {
			err = wrong
			break
		}
		before := all
		var more Erased
		more, err = f.stored().Erase(ctx, spec)
		more.Events, more.DeadLetters, more.Attempts = all.Events+more.Events, all.DeadLetters+more.DeadLetters, all.Attempts+more.Attempts
		more.Texts += all.Texts
		if all = more; all.Events == before.Events && all.Open == before.Open && slices.Equal(all.OpenIDs, before.OpenIDs) {
			break // a further round would do the same
		}
	}
	if err != nil || e.KeepSpace {
		return all, err
	}
	spec.KeepSpace = false
	last, err := f.stored().Erase(ctx, spec) // which rewrites the file
	all.Clean, all.Events, all.Texts = last.Clean, all.Events+last.Events, all.Texts+last.Texts
	return all, err
}

// cancelAll cancels events and returns how many it could cancel.
func (f *File) cancelAll(ctx context.Context, ids []uuid.UUID) (cancelled int, err error) {
	for _, id := range ids {
		_, err := f.stored().CancelEvent(ctx, id, "")
		switch {
		case err == nil, errors.As(err, new(*NotOpenError)), errors.As(err, new(*NotFoundError)):
			cancelled++
		case errors.As(err, new(*BegunError)), errors.As(err, new(*UnansweredError)):
		default:
			return cancelled, err
		}
	}
	return cancelled, nil
}

// shortestInTexts is how many characters a value has at least that is erased from texts.
const shortestInTexts = 3

// erasure makes functions of what names the person.
func (f *File) erasure(ctx context.Context, e Erasure) (spec engine.Erasure, err error) {
	person := slices.Compact(slices.Sorted(slices.Values(e.Values)))
	if len(person) == 0 || person[0] == "" {
		return spec, errors.New("name the person by at least one value, and by none that is empty")
	}
	slices.SortFunc(person, func(a, b string) int { return len(b) - len(a) }) // one may contain another
	inTexts := privacy.Person(slices.DeleteFunc(slices.Clone(person), func(value string) bool { return utf8.RuneCountInString(value) < shortestInTexts }))
	var globs []glob.Pattern
	for _, text := range e.Types {
		g, err := glob.Parse(text)
		if err != nil {
			return spec, err
		}
		globs = append(globs, g)
	}
	names, err := f.stored().Names(ctx)
	if err != nil {
		return spec, err
	}
	shapes := map[string]*privacy.Shape{}
	for _, eventType := range names.Types {
		stored, err := f.stored().Schema(ctx, eventType)
		if err != nil {
			return spec, err
		}
		shapes[eventType] = privacy.Read(stored.Text)
		chosen := len(globs) == 0 || slices.ContainsFunc(globs, func(g glob.Pattern) bool { return g.Match(eventType) })
		if e.Field == "" && chosen && shapes[eventType].Unknown() {
			return spec, fmt.Errorf("the schema of %s cannot be read, so its personal fields are not known: use a newer busgen, name the field, or choose other types", eventType)
		}
	}
	metadata := func(m json.RawMessage) json.RawMessage { return ownMetadata(m, inTexts) }
	return engine.Erasure{
		Names: func(eventType string, version int, payload []byte) bool {
			died, notice := strings.CutPrefix(eventType, engine.DeadType(""))
			if len(globs) > 0 && !slices.ContainsFunc(globs, func(g glob.Pattern) bool { return g.Match(died) }) {
				return false
			}
			if notice {
				return shapes[died].NoticeNames(payload, person, e.Field)
			}
			return shapes[died].Names(version, payload, person, e.Field)
		},
		Redact: func(eventType string, version int, payload []byte) []byte {
			if died, notice := strings.CutPrefix(eventType, engine.DeadType("")); notice {
				return shapes[died].RedactNotice(payload, person, e.Whole, metadata)
			}
			return shapes[eventType].Redact(version, payload, person, e.Whole)
		},
		Metadata:     metadata,
		Text:         inTexts.Erase,
		MetadataText: inTexts.EraseValues,
		Notice:       inTexts.EraseInNotice,
		Mentions: func(eventType string, payload []byte) bool {
			if strings.HasPrefix(eventType, engine.DeadType("")) {
				return inTexts.MentionedInNotice(payload)
			}
			return inTexts.Mentioned(payload)
		},
		Detail: describeErasure(e), DryRun: e.DryRun, KeepSpace: e.KeepSpace, Progress: e.Progress,
	}, nil
}

// ownMetadata returns what stays of metadata: what the bus itself writes, and ids that name
// nobody.
func ownMetadata(metadata json.RawMessage, p privacy.Person) json.RawMessage {
	var all map[string]string
	if json.Unmarshal(metadata, &all) != nil {
		return nil
	}
	left := map[string]string{}
	for key, value := range all {
		switch {
		case slices.Contains(engine.OwnKeys(), key), key == engine.TraceParentKey:
			left[key] = value
		case key == engine.CorrelationKey: // it stands before parent_id, which an index relies on
			left[key] = ErasedValue
			if _, err := uuid.Parse(value); err == nil && !p.In(value) {
				left[key] = value
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	text, err := plainjson.Marshal(left) // sorted by key
	if err != nil {
		return nil
	}
	return bytes.TrimSpace(text)
}

// describeErasure says for the audit what was done, and names nobody.
func describeErasure(e Erasure) string {
	text := "personal fields of the events about a person"
	if e.Whole {
		text = "payloads of the events about a person"
	}
	if e.Field != "" {
		text += ", by the field " + e.Field
	}
	if len(e.Types) > 0 {
		text += ", of type " + strings.Join(e.Types, " or ")
	}
	return text
}
