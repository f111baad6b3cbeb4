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
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

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
	names, err := f.stored().Declared(ctx)
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
	redact := func(eventType string, version int, payload []byte) []byte {
		if died, notice := strings.CutPrefix(eventType, engine.DeadType("")); notice {
			return shapes[died].RedactNotice(payload, person, e.Whole, metadata)
		}
		return shapes[eventType].Redact(version, payload, person, e.Whole)
	}
	about := func(eventType string, version int, payload []byte) bool {
		died, notice := strings.CutPrefix(eventType, engine.DeadType(""))
		switch {
		case len(globs) > 0 && !slices.ContainsFunc(globs, func(g glob.Pattern) bool { return g.Match(died) }):
			return false
		case len(globs) == 0 && e.Field == "" && !shapes[died].Personal():
			return false // its key alone could say so
		case notice:
			return shapes[died].NoticeNames(payload, person, e.Field)
		}
		return shapes[died].Names(version, payload, person, e.Field)
	}
	return engine.Erasure{
		Names: func(eventType string, version int, payload []byte) bool {
			// What stands for an erased value may be one of the values, such as 0.
			return about(eventType, version, payload) && !bytes.Equal(redact(eventType, version, payload), payload)
		},
		Keyed: func(eventType string, version int, payload []byte) bool {
			return len(globs) == 0 && e.Field == "" && shapes[eventType].KeyOnly(version, payload, person)
		},
		Redact:       redact,
		Metadata:     metadata,
		Text:         inTexts.Erase,
		MetadataText: inTexts.EraseValues,
		Notice:       inTexts.EraseInNotice,
		Key:          inTexts.IsKey,
		Part:         inTexts.IsPart,
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
		case key == event.CorrelationKey: // it stands before parent_id, which an index relies on
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

// describeErasure says for the audit what was done, and names no person.
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
