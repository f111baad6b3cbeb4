package privacy

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Hidden stands for a value that is not shown.
const Hidden = "[hidden]"

// shortest is the length of the shortest value that is hidden in texts. A shorter one is in words and numbers
// that have nothing to do with it.
const shortest = 4

// Hide returns a payload of a version as it may be shown, and what hides the same values in texts. Without
// anything to hide it returns the payload itself.
func (s *Shape) Hide(version int, payload []byte) (json.RawMessage, *Veil) {
	if !s.Sensitive() {
		return payload, nil
	}
	if !json.Valid(payload) {
		return quote(Hidden), &Veil{values: []string{string(payload)}}
	}
	v := &Veil{}
	if s.unknown {
		return v.hide(payload), v.sorted()
	}
	return v.structure(s.of(version), payload), v.sorted()
}

// Veil hides values in texts. Nil hides nothing.
type Veil struct {
	values []string
	all    bool
}

// HidesAll hides every text: for one beside values that are not known.
var HidesAll = &Veil{all: true}

// hide hides a value with everything in it.
func (v *Veil) hide(value []byte) json.RawMessage {
	if what(value) == "null" {
		return value
	}
	leaves(value, false, func(leaf string) {
		if len(leaf) >= shortest {
			v.values = append(v.values, leaf)
		}
	})
	return quote(Hidden)
}

func (v *Veil) structure(s *structure, value json.RawMessage) json.RawMessage {
	switch {
	case what(value) == "null" || s.enum != nil:
		return value
	case s.custom != nil:
		return v.value(s.custom, value)
	case what(value) != "an object":
		return v.hide(value) // it does not fit
	}
	all, discriminator := members(value), s.discriminator
	if s.variants != nil {
		of := s.chosen(all)
		if of == nil {
			return v.hide(value)
		}
		s = of
	}
	for i, m := range all {
		switch f := s.byKey[m.key]; {
		case f == nil && discriminator != "" && m.key == discriminator:
		case f == nil: // of another version, which may have called it sensitive
			all[i].value = v.hide(m.value)
		case f.sensitive:
			all[i].value = v.hide(m.value)
		default:
			all[i].value = v.value(f.of, m.value)
		}
	}
	return object(all)
}

func (v *Veil) value(t *ref, value json.RawMessage) json.RawMessage {
	switch {
	case t.scalar != "":
		return value
	case t.named != nil:
		return v.structure(t.named, value)
	}
	return each(value, func(one json.RawMessage) json.RawMessage {
		if t.list != nil {
			return v.value(t.list, one)
		}
		return v.value(t.entries, one)
	})
}

// chosen returns the variant of a union that an object is; nil for none.
func (s *structure) chosen(all []member) *structure {
	for _, m := range all {
		if m.key == s.discriminator && what(m.value) == "a string" {
			for _, one := range s.variants {
				if one.name == unquote(m.value) {
					return one.of
				}
			}
		}
	}
	return nil
}

// each replaces the items of a list, or the values of an object.
func each(value json.RawMessage, replace func(json.RawMessage) json.RawMessage) json.RawMessage {
	switch what(value) {
	case "a list":
		all := items(value)
		for i := range all {
			all[i] = replace(all[i])
		}
		return list(all)
	case "an object":
		all := members(value)
		for i := range all {
			all[i].value = replace(all[i].value)
		}
		return object(all)
	}
	return value
}

// sorted puts long values first, so that one that contains another is replaced as a whole.
func (v *Veil) sorted() *Veil {
	slices.SortFunc(v.values, func(a, b string) int { return len(b) - len(a) })
	v.values = slices.Compact(v.values)
	return v
}

// Text replaces the hidden values in a text, also as Go and JSON quote them.
func (v *Veil) Text(text string) string {
	if v == nil {
		return text
	}
	if v.all && text != "" {
		return Hidden
	}
	for _, value := range v.values {
		for _, form := range forms(value) {
			text = strings.ReplaceAll(text, form, Hidden)
		}
	}
	return text
}

// Finds reports whether a text is in a part of an event, which is its payload or one of its other texts, where nothing
// is hidden. The text must be within what is shown on one side of a hidden value: whether it goes on there is not told.
func (s *Shape) Finds(hide Hides, version int, payload, part []byte, text string) bool {
	if !s.Sensitive() {
		return bytes.Contains(part, []byte(text))
	}
	shown, veil := hide(s, version, payload)
	if !bytes.Equal(part, payload) {
		shown = json.RawMessage(veil.Text(string(part)))
	}
	for _, run := range bytes.Split(shown, []byte(Hidden)) {
		if bytes.Contains(run, []byte(text)) {
			return true
		}
	}
	return false
}

// quotedOf is how many characters of a value the errors of checks quote at most.
const quotedOf = 60

// Finding is Text for the error of a check, which may quote the beginning of a value.
func (v *Veil) Finding(text string) string {
	text = v.Text(text)
	if v == nil {
		return text
	}
	for _, value := range v.values {
		if all := []rune(value); len(all) > quotedOf {
			for _, form := range forms(string(all[:quotedOf])) {
				text = strings.ReplaceAll(text, form, Hidden)
			}
		}
	}
	return text
}

// HidesHidden reports whether a value that is hidden is [Hidden] itself: the payload was hidden before.
func (v *Veil) HidesHidden() bool { return v != nil && slices.Contains(v.values, Hidden) }

// forms are how a value is written in texts: as it is, within quotation marks of Go or JSON, and in URLs. Long ones
// are first, since they may contain others.
func forms(value string) []string {
	all := []string{value}
	for _, inURL := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		if !slices.Contains(all, inURL) {
			all = append(all, inURL)
		}
	}
	for _, quoted := range []string{strconv.Quote(value), string(quote(value)), strconv.QuoteToASCII(value), escaped(value)} {
		if inner := quoted[1 : len(quoted)-1]; !slices.Contains(all, inner) {
			all = append(all, inner)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// escaped is JSON as encoding/json writes it by default, with escapes for HTML.
func escaped(value string) string {
	text, _ := json.Marshal(value) // a string has no error
	return string(text)
}
