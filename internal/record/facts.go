package record

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/internal/plainjson"
)

// A Fact is one thing about a catalogue that stored events rely on, as one line of text:
//
//	event order.placed 1 email: "string?"
//
// The words say what it is about; the value is JSON, and many facts have none. These are all facts:
//
//	event NAME version: 2                  the present version
//	event NAME history 1                   an old version that can be read
//	event NAME alias OTHER                 a former name
//	event NAME partition_by: "FIELD"
//	event NAME dedupe_by: "FIELD"
//	event NAME await_by: "FIELD"
//	event NAME expires_after: "48h0m0s"
//	event NAME header KEY: "string?"       of its metadata; without the mark it is required
//	event NAME 1 FIELD: "string?"          a field of a version; its parts follow behind it, if it is a struct in place
//	subscription NAME event: "EVENT"
//	subscription NAME pattern: "PATTERN PATTERN"   of one at the top level
//	subscription NAME alias OTHER
//	subscription NAME group: "GROUP"
//	group NAME alias OTHER
//	subscription NAME expires_after: "1h0m0s"   if it is not that of the event
//	struct TYPE                            and its fields
//	struct TYPE FIELD: {"type":"int64","min":"1"}
//	enum TYPE VALUE                        with a number, if it is one of integers
//	union TYPE: "DISCRIMINATOR"            and its variants
//	union TYPE VARIANT: "STRUCT"           or fields behind it, if it is a struct in place
//	custom TYPE: {"custom":"string","go":"net/netip.Addr"}
//	reserved event NAME 1 FIELD: "string"  a field that is gone; without a value, a name that the catalogue reserves
//	reserved event NAME 1                  a version that is gone, with the event or without; its fields are reserved
//	reserved event NAME header KEY: "int"  a header that is gone
//	reserved enum TYPE VALUE: 2            a number that no value has any more
//	reserved union TYPE VARIANT: {…}       a variant that is gone, as a field of its struct
type Fact struct {
	Words []string
	Value string
	// NameAt and ValueAt are where its last word and its value are, of one that was read.
	NameAt, ValueAt diag.Position
}

// IsRemoved tells whether the fact is about something that is gone.
func (f Fact) IsRemoved() bool {
	return f.Words[0] == factReserved && (f.Value != "" || isRemovedVersion(f.about()))
}

// isRemovedVersion tells whether the words of a reserved fact are about a version of an event.
func isRemovedVersion(words []string) bool {
	return len(words) == 3 && words[0] == "event" && isVersion(words[2])
}

// factReserved is the first word of facts about reserved names and about removed parts.
const factReserved = "reserved"

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./@-]+$`)

// String returns the line.
func (f Fact) String() string {
	var b strings.Builder
	for i, word := range f.Words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if plainWord.MatchString(word) {
			b.WriteString(word)
		} else {
			b.Write(plainjson.Quote(word))
		}
	}
	if f.Value != "" {
		b.WriteString(": " + f.Value)
	}
	return b.String()
}

// ParseFact reads a line, which is at a position. Whether there is such a fact is for [ReadFacts] to say.
func ParseFact(line string, at diag.Position) (Fact, error) {
	f := Fact{NameAt: at}
	for rest := line; ; {
		word, after, err := cutWord(rest)
		if err != nil {
			return f, err
		}
		f.Words = append(f.Words, word)
		f.NameAt.Column = at.Column + utf8.RuneCountInString(line[:len(line)-len(rest)])
		f.ValueAt = f.NameAt
		switch {
		case after == "":
			return f, nil
		case strings.HasPrefix(after, ": "):
			f.Value = after[len(": "):]
			f.ValueAt.Column = at.Column + utf8.RuneCountInString(line[:len(line)-len(f.Value)])
			if !json.Valid([]byte(f.Value)) {
				return f, fmt.Errorf("the value is not JSON")
			}
			return f, nil
		case after[0] != ' ':
			return f, fmt.Errorf("a blank or a colon is missing after %s", word)
		}
		rest = after[1:]
	}
}

// cutWord cuts the first word off a line.
func cutWord(line string) (word, rest string, err error) {
	if strings.HasPrefix(line, `"`) {
		end := 1
		for end < len(line) && line[end] != '"' {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(line) || !json.Valid([]byte(line[:end+1])) {
			return "", "", fmt.Errorf("a word in quotes is not well-formed")
		}
		err := json.Unmarshal([]byte(line[:end+1]), &word)
		return word, line[end+1:], err
	}
	end := strings.IndexAny(line, " :")
	if end < 0 {
		end = len(line)
	}
	if !plainWord.MatchString(line[:end]) {
		return "", "", fmt.Errorf("a word is missing")
	}
	return line[:end], line[end:], nil
}

// FactsOf lists all facts about a catalogue, of each event with the types that its payloads are made
// of. They have no order of their own.
func FactsOf(c *catalog.Catalogue) []Fact {
	w := factWriter{seen: map[*catalog.Type]bool{}}
	for _, e := range c.Events {
		w.event(e)
	}
	for _, s := range c.Subscriptions {
		w.patternSubscription(s)
	}
	for _, g := range c.Groups {
		for _, alias := range g.Aliases {
			w.add(nil, "group", g.Name.V, "alias", alias.V)
		}
	}
	for _, e := range c.Removed {
		for _, old := range e.History {
			w.facts = append(w.facts, removedVersion(e.Name.V, old.Version.V, old.Type.Fields)...)
		}
	}
	return w.facts
}

type factWriter struct {
	facts []Fact
	seen  map[*catalog.Type]bool // the types so far
}

func (w *factWriter) add(value any, words ...string) {
	f := Fact{Words: words}
	if value != nil {
		f.Value = factValue(value)
	}
	w.facts = append(w.facts, f)
}

// factValue returns the JSON of a value that consists of strings and numbers.
func factValue(value any) string {
	text, err := plainjson.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("catalog: a fact of %v: %v", value, err))
	}
	return string(text)
}

func (w *factWriter) event(e *catalog.Event) {
	name := e.Name.V
	w.add(e.Version.V, "event", name, "version")
	for _, alias := range e.Aliases {
		w.add(nil, "event", name, "alias", alias.V)
	}
	if e.PartitionBy != nil {
		w.add(e.PartitionBy.Name.V, "event", name, "partition_by")
	}
	if e.DedupeBy != nil {
		w.add(e.DedupeBy.Name.V, "event", name, "dedupe_by")
	}
	if e.AwaitBy != nil {
		w.add(e.AwaitBy.Name.V, "event", name, "await_by")
	}
	if e.Settings.ExpiresAfter.V != 0 {
		w.add(e.Settings.ExpiresAfter.V.String(), "event", name, "expires_after")
	}
	for _, h := range e.Headers {
		w.add(headerForm(h), headerKey(name, h)...)
	}
	w.fields(payloadKey(name, e.Version.V), e.Fields, e.Reserved)
	for _, old := range e.History {
		w.add(nil, "event", name, "history", strconv.Itoa(old.Version.V))
		w.fields(payloadKey(name, old.Version.V), old.Type.Fields, old.Type.Reserved)
	}
	for _, s := range e.Subscriptions {
		w.add(name, "subscription", s.Name.V, "event")
		w.subscription(s)
		if own := s.Settings.ExpiresAfter.V; own != e.Settings.ExpiresAfter.V {
			w.add(own.String(), "subscription", s.Name.V, "expires_after")
		}
	}
}

// subscription adds what those of events and those for patterns have.
func (w *factWriter) subscription(s *catalog.Subscription) {
	for _, alias := range s.Aliases {
		w.add(nil, "subscription", s.Name.V, "alias", alias.V)
	}
	if s.Group != nil {
		w.add(s.Group.Name.V, "subscription", s.Name.V, "group")
	}
}

func (w *factWriter) patternSubscription(s *catalog.PatternSubscription) {
	w.add(s.Pattern(), "subscription", s.Name.V, "pattern")
	w.subscription(&s.Subscription)
	if own := s.Settings.ExpiresAfter; own.Written() {
		w.add(own.V.String(), "subscription", s.Name.V, "expires_after")
	}
}

// headerKey returns the words of a fact about a header.
func headerKey(event string, h *catalog.Header) []string {
	return []string{"event", event, factHeader, h.Name.V}
}

// factHeader is the word in front of the keys of headers.
const factHeader = "header"

// headerForm returns the type of a header as that of a field, which has a mark if it may be missing.
func headerForm(h *catalog.Header) schema.Field {
	form := schema.Field{Type: h.Type.Text}
	if !h.Required.V {
		form.Type += "?"
	}
	return form
}

// payloadKey returns the words in front of the fields of a payload.
func payloadKey(event string, version int) []string {
	return []string{"event", event, strconv.Itoa(version)}
}

// within appends the name of a part to the words of a whole. It copies the words.
func within(key []string, part string) []string { return append(key[:len(key):len(key)], part) }

// fields adds those of a payload or a struct, with the types that they are made of.
func (w *factWriter) fields(key []string, fields []*catalog.Field, reserved []catalog.Value[string]) {
	for _, f := range fields {
		if f.Removed {
			w.facts = append(w.facts, removedFacts(key, f.Name.V, f)...)
			continue
		}
		form := fieldFact(f)
		form.Fields = nil
		w.add(form, within(key, f.Name.V)...)
		switch t := f.Type.Declared(); {
		case t == nil:
		case t.Inline:
			w.fields(within(key, f.Name.V), t.Fields, t.Reserved)
		default:
			w.declared(t)
		}
	}
	for _, name := range reserved {
		w.add(nil, append([]string{factReserved}, within(key, name.V)...)...)
	}
}

// fieldFact returns a field with everything that stored events rely on.
func fieldFact(f *catalog.Field) schema.Field {
	form := schema.FieldOf(f)
	form.Default = f.Default.V
	form.Sensitive, form.Personal = false, false
	return form
}

func typeFact(t *catalog.Type) schema.Type {
	form := schema.TypeOf(t)
	if t.IsCustom() {
		form.Go = t.Custom.GoType()
	}
	return form
}

// declared adds a type that is not in place, and those that it is made of.
func (w *factWriter) declared(t *catalog.Type) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	name := t.Name.V
	switch {
	case t.IsCustom():
		w.add(typeFact(t), "custom", name)
	case t.IsEnum():
		for _, v := range t.Values {
			var number any
			if t.Integer {
				number = v.Number
			}
			w.add(number, "enum", name, v.Name.V)
		}
		for _, v := range t.RemovedValues {
			w.facts = append(w.facts, removedValue(name, v))
		}
	case t.IsUnion():
		w.add(t.Discriminator.V, "union", name)
		for _, v := range t.Variants {
			w.variant(t, v)
		}
		for _, v := range t.RemovedVariants {
			w.facts = append(w.facts, removedVariant(name, v)...)
		}
	default:
		w.add(nil, "struct", name)
		w.fields([]string{"struct", name}, t.Fields, t.Reserved)
	}
}

func (w *factWriter) variant(t *catalog.Type, v *catalog.Variant) {
	key := []string{"union", t.Name.V, v.Name.V}
	if !v.Type.Inline {
		w.add(v.Type.Name.V, key...)
		w.declared(v.Type)
		return
	}
	w.add(nil, key...)
	w.fields(key, v.Type.Fields, v.Type.Reserved)
}
