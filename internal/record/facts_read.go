package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/payload/schema"
)

// A FactError says what is wrong with a fact.
type FactError struct {
	Fact
	Message string
	Missing string // the type that no fact is about, if that is wrong
}

// ReadFacts returns a catalogue with all that facts say, in any order. A field of something that no
// fact is about is ignored. The catalogue has what package breaking compares, and nothing else.
func ReadFacts(facts []Fact) (*catalog.Catalogue, []FactError) {
	r := factReader{events: map[string]*catalog.Event{}, subscriptions: map[string]*factSubscription{}, structs: map[string]*catalog.Type{}, groupAliases: map[string][]catalog.Value[string]{}}
	r.Types = map[string]*catalog.Type{}
	facts = slices.Clone(facts)
	slices.SortStableFunc(facts, func(a, b Fact) int { // what fields are in comes before them
		return cmp.Compare(len(a.about()), len(b.about()))
	})
	for _, f := range facts {
		r.declare(f)
	}
	for _, f := range facts {
		r.fact(f, f.about())
	}
	return r.catalogue(), r.errors
}

type factReader struct {
	schema.Reader // of the types that are declared
	events        map[string]*catalog.Event
	order         []*catalog.Event
	subscriptions map[string]*factSubscription
	subscribed    []*factSubscription
	structs       map[string]*catalog.Type // payloads, and structs in place, by the words in front of their fields
	groupAliases  map[string][]catalog.Value[string]
	removed       []removedShape
	errors        []FactError
}

type factSubscription struct {
	*catalog.Subscription
	event    string
	patterns glob.Set // of one at the top level
	at       diag.Position
	own      bool // its expiry is not that of the event
}

// removedShape is a version of an event that was removed.
type removedShape struct {
	event string
	*catalog.OldShape
}

// about returns the words without the first one of a reserved name.
func (f Fact) about() []string {
	if f.Words[0] == factReserved && len(f.Words) > 1 {
		return f.Words[1:]
	}
	return f.Words
}

func wordsKey(words []string) string { return strings.Join(words, "\x00") }

func (r *factReader) refuse(f Fact, format string, args ...any) {
	r.errors = append(r.errors, FactError{Fact: f, Message: fmt.Sprintf(format, args...)})
}

func (r *factReader) lacks(f Fact, missing string) {
	r.errors = append(r.errors, FactError{f, "the record has no line about type " + missing, missing})
}

// declare makes what facts are about, so that others can refer to it.
func (r *factReader) declare(f Fact) {
	if len(f.Words) < 2 {
		return
	}
	name := catalog.Value[string]{V: f.Words[1], Pos: f.NameAt}
	name.Pos.Column = len(f.Words[0]) + 2 // it is the second word
	switch f.Words[0] {
	case "event":
		if r.events[name.V] == nil {
			e := &catalog.Event{Name: name, Version: catalog.Value[int]{V: 1}}
			r.events[name.V], r.order = e, append(r.order, e)
		}
	case "subscription":
		if r.subscriptions[name.V] == nil {
			s := &factSubscription{Subscription: &catalog.Subscription{Name: name}}
			r.subscriptions[name.V], r.subscribed = s, append(r.subscribed, s)
		}
	case "struct", "enum", "union", "custom":
		if r.Types[name.V] == nil {
			r.Types[name.V] = &catalog.Type{Name: name}
		}
	}
}

// fact reads one that is about something: words are those without the first one of a reserved name.
func (r *factReader) fact(f Fact, words []string) {
	ok := false
	switch isReserved := len(words) < len(f.Words); {
	case isFieldOf(words):
		ok = r.fieldFact(f, words, isReserved)
	case isReserved && f.IsRemoved():
		ok = r.removedFact(f, words)
	case isReserved || len(words) < 2:
	case words[0] == "event":
		ok = r.eventFact(f, r.events[words[1]])
	case words[0] == "group":
		if ok = len(words) == 4 && words[2] == "alias"; ok {
			r.groupAliases[words[1]] = append(r.groupAliases[words[1]], catalog.Value[string]{V: words[3], Pos: f.NameAt})
		}
	case words[0] == "subscription":
		ok = r.subscriptionFact(f, r.subscriptions[words[1]])
	default:
		ok = r.typeFact(f, r.Types[words[1]])
	}
	if !ok {
		r.refuse(f, "this version of busgen does not know this line")
	}
}

// isFieldOf tells whether words name a field.
func isFieldOf(words []string) bool {
	switch words[0] {
	case "struct":
		return len(words) > 2
	case "union":
		return len(words) > 3
	case "event":
		return len(words) > 3 && isVersion(words[2])
	}
	return false
}

func isVersion(word string) bool {
	_, err := strconv.Atoi(word)
	return err == nil
}

// holder returns the struct whose fields have these words in front of them. It is nil for a struct in place
// that no fact declares.
func (r *factReader) holder(words []string) *catalog.Type {
	if words[0] == "struct" && len(words) == 2 {
		return r.Types[words[1]]
	}
	key := wordsKey(words)
	if r.structs[key] == nil && len(words) == 3 && words[0] != "struct" { // a payload, or a variant
		r.structs[key] = &catalog.Type{Inline: true}
	}
	return r.structs[key]
}

func (r *factReader) fieldFact(f Fact, words []string, isReserved bool) bool {
	holder := r.holder(words[:len(words)-1])
	name := catalog.Value[string]{V: words[len(words)-1], Pos: f.NameAt}
	switch {
	case holder == nil:
		return true
	case isReserved && f.Value == "":
		holder.Reserved = append(holder.Reserved, name)
		return true
	}
	field := r.field(f, words, isReserved)
	if field == nil {
		return false
	}
	field.Name, field.Removed = name, isReserved
	holder.Fields = append(holder.Fields, field)
	return true
}

// field reads the value of a fact as that of a field; nil if it is none. A removed field has all
// types that it was made of in the value.
func (r *factReader) field(f Fact, words []string, isGone bool) *catalog.Field {
	var s schema.Field
	if schema.Unmarshal([]byte(f.Value), &s) != nil {
		return nil
	}
	var inline *catalog.Type
	types := &r.Reader
	types.At = f.ValueAt
	switch {
	case isGone:
		types = schema.NewReader(s.Types, f.ValueAt)
		if s.Fields != nil {
			inline = &catalog.Type{Inline: true, Fields: types.Fields(s.Fields)}
			r.structs[wordsKey(words)] = inline // of which fields were removed before
		}
	case s.IsInPlace():
		inline = &catalog.Type{Inline: true}
		r.structs[wordsKey(words)] = inline
	}
	field := types.Field(words[len(words)-1], s, inline)
	for _, missing := range types.Missing {
		r.lacks(f, missing)
	}
	types.Missing = nil
	return field
}

// removedFact reads one about something that is gone and is no field. It is ignored if no fact is about
// what it was in.
func (r *factReader) removedFact(f Fact, words []string) bool {
	if isRemovedVersion(words) {
		number, _ := strconv.Atoi(words[2])
		r.removed = append(r.removed, removedShape{words[1], &catalog.OldShape{Version: catalog.Value[int]{V: number, Pos: f.NameAt}, Type: r.holder(words)}})
		return true
	}
	if len(words) == 4 && words[0] == "event" && words[2] == factHeader {
		h := r.header(f, words)
		if e := r.events[words[1]]; h != nil && e != nil {
			e.RemovedHeaders = append(e.RemovedHeaders, h)
		}
		return h != nil
	}
	if len(words) != 3 {
		return false
	}
	name, in := catalog.Value[string]{V: words[2], Pos: f.NameAt}, r.Types[words[1]]
	switch words[0] {
	case "enum":
		v := &catalog.EnumValue{Name: name}
		if schema.Unmarshal([]byte(f.Value), &v.Number) != nil {
			return false
		}
		if in != nil {
			in.RemovedValues = append(in.RemovedValues, v)
		}
	case "union":
		field := r.field(f, words, true)
		if field == nil || field.Type.Declared() == nil {
			return false
		}
		if in != nil {
			in.RemovedVariants = append(in.RemovedVariants, &catalog.Variant{Name: name, Type: field.Type.Named})
		}
	default:
		return false
	}
	return true
}

func (r *factReader) eventFact(f Fact, e *catalog.Event) bool {
	if len(f.Words) == 3 {
		switch f.Words[2] {
		case "version":
			e.Version.Pos = f.NameAt
			return schema.Unmarshal([]byte(f.Value), &e.Version.V) == nil
		case "partition_by":
			e.PartitionBy = &catalog.Field{Name: catalog.Value[string]{Pos: f.ValueAt}}
			return schema.Unmarshal([]byte(f.Value), &e.PartitionBy.Name.V) == nil
		case "dedupe_by":
			e.DedupeBy = &catalog.Field{Name: catalog.Value[string]{Pos: f.ValueAt}}
			return schema.Unmarshal([]byte(f.Value), &e.DedupeBy.Name.V) == nil
		case "await_by":
			e.AwaitBy = &catalog.Field{Name: catalog.Value[string]{Pos: f.ValueAt}}
			return schema.Unmarshal([]byte(f.Value), &e.AwaitBy.Name.V) == nil
		case "expires_after":
			return f.duration(&e.Settings.ExpiresAfter)
		}
	}
	if len(f.Words) != 4 {
		return false
	}
	switch last := (catalog.Value[string]{V: f.Words[3], Pos: f.NameAt}); f.Words[2] {
	case "alias":
		e.Aliases = append(e.Aliases, last)
		return true
	case factHeader:
		h := r.header(f, f.Words)
		if h != nil {
			e.Headers = append(e.Headers, h)
		}
		return h != nil
	case "history":
		number, err := strconv.Atoi(last.V)
		e.History = append(e.History, &catalog.OldShape{Version: catalog.Value[int]{V: number, Pos: last.Pos}})
		return err == nil
	}
	return false
}

// header reads the value of a fact as the type of a header; nil if it is none.
func (r *factReader) header(f Fact, words []string) *catalog.Header {
	field := r.field(f, words, false)
	if field == nil || field.Type.Nullable {
		return nil
	}
	bare, mark := catalog.CutMark(field.Type.Text)
	if !slices.Contains(catalog.HeaderTypes, bare) {
		return nil
	}
	field.Type.Text = bare
	return &catalog.Header{
		Name: catalog.Value[string]{V: words[len(words)-1], Pos: f.NameAt}, Type: field.Type, Required: catalog.Value[bool]{V: mark == ""},
	}
}

func (r *factReader) subscriptionFact(f Fact, s *factSubscription) bool {
	switch {
	case len(f.Words) == 4 && f.Words[2] == "alias":
		s.Aliases = append(s.Aliases, catalog.Value[string]{V: f.Words[3], Pos: f.NameAt})
		return true
	case len(f.Words) == 3 && f.Words[2] == "event":
		return schema.Unmarshal([]byte(f.Value), &s.event) == nil
	case len(f.Words) == 3 && f.Words[2] == "pattern":
		var text string
		err := schema.Unmarshal([]byte(f.Value), &text)
		if err == nil {
			s.patterns, err = glob.ParseSet(text)
		}
		s.at = f.ValueAt
		return err == nil
	case len(f.Words) == 3 && f.Words[2] == "group":
		s.Group = &catalog.Group{}
		s.Group.Name.Pos = f.ValueAt
		return schema.Unmarshal([]byte(f.Value), &s.Group.Name.V) == nil
	case len(f.Words) == 3 && f.Words[2] == "expires_after":
		s.own = true
		return f.duration(&s.Settings.ExpiresAfter)
	}
	return false
}

// duration reads the value of a setting.
func (f Fact) duration(to *catalog.Value[time.Duration]) bool {
	var text string
	err := json.Unmarshal([]byte(f.Value), &text)
	if err == nil {
		to.V, err = time.ParseDuration(text)
	}
	to.Pos = f.ValueAt
	return err == nil
}

func (r *factReader) typeFact(f Fact, t *catalog.Type) bool {
	switch sort := f.Words[0]; {
	case sort == "struct":
		return len(f.Words) == 2
	case sort == "custom" && len(f.Words) == 2:
		var s schema.Type
		if schema.Unmarshal([]byte(f.Value), &s) != nil || s.Custom == "" {
			return false
		}
		r.At = f.ValueAt
		r.Define(t, s)
		return true
	case sort == "enum" && len(f.Words) == 3:
		v := &catalog.EnumValue{Name: catalog.Value[string]{V: f.Words[2], Pos: f.NameAt}}
		t.Values, t.Integer = append(t.Values, v), f.Value != ""
		return f.Value == "" || schema.Unmarshal([]byte(f.Value), &v.Number) == nil
	case sort == "union" && len(f.Words) == 2:
		t.Discriminator.Pos, t.Variants = f.ValueAt, []*catalog.Variant{}
		return schema.Unmarshal([]byte(f.Value), &t.Discriminator.V) == nil
	case sort == "union" && len(f.Words) == 3:
		return r.variantFact(f, t)
	}
	return false
}

func (r *factReader) variantFact(f Fact, union *catalog.Type) bool {
	v := &catalog.Variant{Name: catalog.Value[string]{V: f.Words[2], Pos: f.NameAt}}
	union.Variants = append(union.Variants, v)
	if f.Value == "" {
		v.Type = r.holder(f.Words)
		v.Type.Name = v.Name
		return true
	}
	var name string
	if schema.Unmarshal([]byte(f.Value), &name) != nil {
		return false
	}
	if v.Type = r.Types[name]; v.Type == nil {
		v.Type = &catalog.Type{}
		r.lacks(f, name)
	}
	return true
}

// catalogue puts the parts together.
func (r *factReader) catalogue() *catalog.Catalogue {
	c := &catalog.Catalogue{}
	for _, e := range r.order {
		payload := r.holder(payloadKey(e.Name.V, e.Version.V))
		e.Fields, e.Reserved = payload.Fields, payload.Reserved
		e.History = slices.DeleteFunc(e.History, func(old *catalog.OldShape) bool { return old.Version.V >= e.Version.V })
		slices.SortFunc(e.History, func(a, b *catalog.OldShape) int { return cmp.Compare(a.Version.V, b.Version.V) })
		for _, old := range e.History {
			old.Type = r.holder(payloadKey(e.Name.V, old.Version.V))
		}
		c.Events = append(c.Events, e)
	}
	c.Removed = r.removedEvents()
	for _, s := range r.subscribed {
		e := r.events[s.event]
		if e == nil && s.patterns == nil {
			continue
		}
		if !s.own && e != nil {
			s.Settings.ExpiresAfter = e.Settings.ExpiresAfter
		}
		if s.Group != nil {
			i := slices.IndexFunc(c.Groups, func(g *catalog.Group) bool { return g.Name.V == s.Group.Name.V })
			if i < 0 {
				i, s.Group.Aliases = len(c.Groups), r.groupAliases[s.Group.Name.V]
				c.Groups = append(c.Groups, s.Group)
			}
			s.Group = c.Groups[i]
		}
		if e != nil {
			e.Subscriptions = append(e.Subscriptions, s.Subscription)
			continue
		}
		one := &catalog.PatternSubscription{Subscription: *s.Subscription}
		for _, p := range s.patterns {
			one.Patterns = append(one.Patterns, catalog.Value[glob.Pattern]{V: p, Pos: s.at})
		}
		one.FindEvents(c.Events)
		c.Subscriptions = append(c.Subscriptions, one)
	}
	return c
}

// removedEvents collects the versions that are gone, by event. Which of their fields were removed
// before is unknown.
func (r *factReader) removedEvents() (all []*catalog.Event) {
	slices.SortFunc(r.removed, func(a, b removedShape) int {
		return cmp.Or(strings.Compare(a.event, b.event), cmp.Compare(a.Version.V, b.Version.V))
	})
	for _, one := range r.removed {
		for _, f := range one.Type.Fields {
			f.Removed = false
		}
		if len(all) == 0 || all[len(all)-1].Name.V != one.event {
			all = append(all, &catalog.Event{Name: catalog.Value[string]{V: one.event, Pos: one.Version.Pos}})
		}
		e := all[len(all)-1]
		e.History = append(e.History, one.OldShape)
	}
	return all
}
