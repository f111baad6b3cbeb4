package parse

import (
	"fmt"
	"slices"
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

// isOff reports whether the value of e is the word off.
func isOff(e entry) bool { return e.value.ShortTag() == "!!str" && e.value.Value == catalog.Off }

// neitherOffNor reports a value that could be off or something else.
func (r *Reader) neitherOffNor(e entry, what, want string) *diag.Finding {
	n := e.value
	if n.ShortTag() != "!!str" {
		return r.wrongKind(n, e.name+" of "+what, catalog.Off+" or "+want)
	}
	f := r.report(r.place(n), rules.UnknownValue, "%s of %s is %q, which is not allowed", e.name, what, n.Value)
	if f.Hint = diag.DidYouMean(n.Value, []string{catalog.Off}); f.Hint == "" {
		f.Hint = "write " + catalog.Off + " or " + want
	}
	return f
}

// switchable reads a mapping, or the word off. The value reports whether it was off; the object is empty
// unless it was a mapping.
func (r *Reader) switchable(o object, key string, known ...string) (object, catalog.Value[bool]) {
	e, ok := o.entries[key]
	switch {
	case !ok:
	case isOff(e):
		return object{}, catalog.Value[bool]{V: true, Pos: r.position(e.value)}
	case e.value.Kind != yaml.MappingNode:
		r.neitherOffNor(e, o.what, "a mapping")
	default:
		inner, _ := r.object(e.value, key+" of "+o.what, known...)
		return inner, catalog.Value[bool]{V: false, Pos: r.position(e.value)}
	}
	return object{}, catalog.Value[bool]{}
}

// doc returns the doc of something: its key `doc`, or else the comment directly above its key, without the
// space around it.
func (r *Reader) doc(key *yaml.Node, o object) string {
	e, ok := o.entries["doc"]
	if !ok {
		return r.commentAbove(key)
	}
	v, _ := r.text(e.value, "doc of "+o.what)
	return strings.TrimSpace(v.V)
}

// commentAbove returns the text of the comment that ends in the line before a key, or before an item of a
// list, and has the same indentation. It ends at a # without a space behind it: such comments are for readers
// of the file only.
func (r *Reader) commentAbove(n *yaml.Node) string {
	pos := r.position(n)
	src := r.sources.byName[pos.File]
	lines, line := src.lines, src.runes[pos.Line-1]
	indent := 0
	dash := false
	for i, c := range line[:min(pos.Column-1, len(line))] {
		switch {
		case c == ' ' && indent == i:
			indent++
		case c == '-' && !dash:
			dash = true
		case c != ' ':
			return "" // it shares its line with others
		}
	}
	var comment []string
	for i := pos.Line - 2; i >= 0; i-- {
		text, isComment := strings.CutPrefix(lines[i], strings.Repeat(" ", indent)+"#")
		if !isComment || text != "" && text[0] != ' ' {
			break
		}
		comment = append(comment, strings.TrimSpace(text))
	}
	slices.Reverse(comment)
	return strings.TrimSpace(strings.Join(comment, "\n"))
}
