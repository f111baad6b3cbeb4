package parse

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// sentence reads an optional text for people.
func (r *Reader) sentence(o object, key string) catalog.Value[string] {
	e, ok := o.entries[key]
	if !ok {
		return catalog.Value[string]{}
	}
	v, ok := r.text(e.value, key+" of "+o.what)
	if v.V = strings.TrimSpace(v.V); ok && v.V == "" {
		r.report(r.place(e.value), rules.WrongKind, "%s of %s is empty", key, o.what).
			Hint = "write something, or remove the key"
	}
	return v
}

// deprecated reads the reason why something is deprecated.
func (r *Reader) deprecated(o object) catalog.Value[string] {
	e, ok := o.entries["deprecated"]
	if ok && e.value.ShortTag() == "!!bool" {
		r.wrongKind(e.value, "deprecated of "+o.what, "a string that says what to use instead")
		return catalog.Value[string]{}
	}
	return r.sentence(o, "deprecated")
}

// flag reads a key that is true or false. It is not written without one.
func (r *Reader) flag(o object, key string) catalog.Value[bool] {
	e, ok := o.entries[key]
	if !ok {
		return catalog.Value[bool]{}
	}
	return r.truth(e, o.what)
}

// truth reads true or false.
func (r *Reader) truth(e entry, what string) catalog.Value[bool] {
	var b bool
	if e.value.Kind != yaml.ScalarNode || e.value.ShortTag() != "!!bool" || e.value.Decode(&b) != nil {
		r.wrongKind(e.value, e.name+" of "+what, "true or false")
		return catalog.Value[bool]{}
	}
	return catalog.Value[bool]{V: b, Pos: r.position(e.value)}
}

// count reads a whole number between lo and hi.
func (r *Reader) count(e entry, what string, lo, hi int, meaning string) catalog.Value[int] {
	v, ok := r.wholeNumber(e, what)
	if ok && (v.V < lo || v.V > hi) {
		r.report(r.place(e.value), rules.OutOfRange, "%s of %s is %d", e.name, what, v.V).
			Hint = meaning + " and must be between " + strconv.Itoa(lo) + " and " + strconv.Itoa(hi)
		return catalog.Value[int]{}
	}
	return v
}

// countOrOff reads a whole number from 1 on, or the word that stands for 0.
func (r *Reader) countOrOff(settings object, key string, most int, meaning string) catalog.Value[int] {
	e, ok := settings.entries[key]
	switch {
	case !ok:
		return catalog.Value[int]{}
	case isOff(e):
		return catalog.Value[int]{V: 0, Pos: r.position(e.value)}
	case !isNumber(e.value):
		r.neitherOffNor(e, settings.what, "a whole number")
		return catalog.Value[int]{}
	}
	return r.count(e, settings.what, 1, most, meaning)
}

// limits has the limits of a number.
type limits struct {
	least, most float64
	below       bool // most itself is too much
}

func (l limits) String() string {
	text := "between %v and %v"
	if l.below {
		text = "at least %v and less than %v"
	}
	return fmt.Sprintf(text, l.least, l.most)
}

func (l limits) allow(f float64) bool {
	return f >= l.least && (f < l.most || f == l.most && !l.below)
}

func (r *Reader) fraction(o object, key string, within limits) catalog.Value[float64] {
	e, ok := o.entries[key]
	if !ok {
		return catalog.Value[float64]{}
	}
	v, ok := r.number(e, o.what)
	if ok && !within.allow(v.V) {
		r.report(r.place(e.value), rules.OutOfRange, "%s of %s is %s", key, o.what, e.value.Value).Hint = "it must be " + within.String()
		return catalog.Value[float64]{}
	}
	return v
}

// oneOf reads a setting that is one of a few words.
func oneOf[T any](r *Reader, o object, key string, words []string, parse func(string) (T, bool)) catalog.Value[T] {
	e, ok := o.entries[key]
	if !ok {
		return catalog.Value[T]{}
	}
	text, ok := r.text(e.value, key+" of "+o.what)
	if !ok {
		return catalog.Value[T]{}
	}
	v, ok := parse(text.V)
	if !ok {
		f := r.report(r.place(e.value), rules.UnknownValue, "%s of %s is %q, which is not allowed", key, o.what, text.V)
		if f.Hint = diag.DidYouMean(text.V, words); f.Hint == "" {
			f.Hint = "use one of " + strings.Join(words, ", ")
		}
		return catalog.Value[T]{}
	}
	return catalog.Value[T]{V: v, Pos: text.Pos}
}
