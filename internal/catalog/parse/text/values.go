package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// Sentence reads an optional text for people.
func (r *Reader) Sentence(o Object, key string) catalog.Value[string] {
	v, n := r.TextOf(o, key)
	if v.V = strings.TrimSpace(v.V); n != nil && v.V == "" {
		r.Report(r.Place(n), rules.WrongKind, "%s of %s is empty", key, o.What).
			Hint = "write something, or remove the key"
	}
	return v
}

// Deprecated reads the reason why something is deprecated.
func (r *Reader) Deprecated(o Object) catalog.Value[string] {
	e, ok := o.Entries["deprecated"]
	if ok && e.Value.ShortTag() == "!!bool" {
		r.WrongKind(e.Value, "deprecated of "+o.What, "a string that says what to use instead")
		return catalog.Value[string]{}
	}
	return r.Sentence(o, "deprecated")
}

// Flag reads a key that is true or false. It is not written without one.
func (r *Reader) Flag(o Object, key string) catalog.Value[bool] {
	e, ok := o.Entries[key]
	if !ok {
		return catalog.Value[bool]{}
	}
	var b bool
	if e.Value.Kind != yaml.ScalarNode || e.Value.ShortTag() != "!!bool" || e.Value.Decode(&b) != nil {
		r.WrongKind(e.Value, key+" of "+o.What, "true or false")
		return catalog.Value[bool]{}
	}
	return catalog.Value[bool]{V: b, Pos: r.Position(e.Value)}
}

// Count reads a whole number between lo and hi. It is not written without one, and after a finding.
func (r *Reader) Count(o Object, key string, lo, hi int, meaning string) catalog.Value[int] {
	e, ok := o.Entries[key]
	if !ok {
		return catalog.Value[int]{}
	}
	v, ok := r.WholeNumber(e, o.What)
	if ok && (v.V < lo || v.V > hi) {
		r.Report(r.Place(e.Value), rules.OutOfRange, "%s of %s is %d", key, o.What, v.V).
			Hint = meaning + " and must be between " + strconv.Itoa(lo) + " and " + strconv.Itoa(hi)
		return catalog.Value[int]{}
	}
	return v
}

// CountOrOff reads a whole number from 1 on, or the word that stands for 0.
func (r *Reader) CountOrOff(settings Object, key string, most int, meaning string) catalog.Value[int] {
	e, ok := settings.Entries[key]
	switch {
	case ok && IsOff(e):
		return catalog.Value[int]{V: 0, Pos: r.Position(e.Value)}
	case ok && !IsNumber(e.Value):
		r.NeitherOffNor(e, settings.What, "a whole number")
		return catalog.Value[int]{}
	}
	return r.Count(settings, key, 1, most, meaning)
}

// Bounds has the limits of a number.
type Bounds struct {
	Least, Most float64
	Below       bool // most itself is too much
}

// String says what is allowed.
func (l Bounds) String() string {
	text := "between %v and %v"
	if l.Below {
		text = "at least %v and less than %v"
	}
	return fmt.Sprintf(text, l.Least, l.Most)
}

func (l Bounds) allow(f float64) bool {
	return f >= l.Least && (f < l.Most || f == l.Most && !l.Below)
}

// Fraction reads a number that may be decimal. It is not written without one, and after a finding.
func (r *Reader) Fraction(o Object, key string, within Bounds) catalog.Value[float64] {
	e, ok := o.Entries[key]
	if !ok {
		return catalog.Value[float64]{}
	}
	v, ok := r.number(e, o.What)
	if ok && !within.allow(v.V) {
		r.Report(r.Place(e.Value), rules.OutOfRange, "%s of %s is %s", key, o.What, e.Value.Value).Hint = "it must be " + within.String()
		return catalog.Value[float64]{}
	}
	return v
}

// OneOf reads a setting that is one of a few words.
func OneOf[T any](r *Reader, o Object, key string, words []string, parse func(string) (T, bool)) catalog.Value[T] {
	text, n := r.TextOf(o, key)
	if n == nil {
		return catalog.Value[T]{}
	}
	v, ok := parse(text.V)
	if !ok {
		r.Report(r.Place(n), rules.UnknownValue, "%s of %s is %q, which is not allowed", key, o.What, text.V).
			Hint = cmp.Or(diag.DidYouMean(text.V, words), "use one of "+strings.Join(words, ", "))
		return catalog.Value[T]{}
	}
	return catalog.Value[T]{V: v, Pos: text.Pos}
}

// Word reads a setting that is one of a few words, and stands for itself.
func (r *Reader) Word(o Object, key string, words []string) catalog.Value[string] {
	return OneOf(r, o, key, words, func(word string) (string, bool) { return word, slices.Contains(words, word) })
}

// IsOff reports whether the value of e is the word off.
func IsOff(e Entry) bool { return e.Value.ShortTag() == "!!str" && e.Value.Value == catalog.Off }

// NeitherOffNor reports a value that could be off or something else.
func (r *Reader) NeitherOffNor(e Entry, what, want string) *diag.Finding {
	n := e.Value
	if n.ShortTag() != "!!str" {
		return r.WrongKind(n, e.Name+" of "+what, catalog.Off+" or "+want)
	}
	f := r.Report(r.Place(n), rules.UnknownValue, "%s of %s is %q, which is not allowed", e.Name, what, n.Value)
	f.Hint = cmp.Or(diag.DidYouMean(n.Value, []string{catalog.Off}), "write "+catalog.Off+" or "+want)
	return f
}

// Switchable reads a mapping, or the word off. The value reports whether it was off; the object is empty
// unless it was a mapping.
func (r *Reader) Switchable(o Object, key string, known ...string) (Object, catalog.Value[bool]) {
	e, ok := o.Entries[key]
	switch {
	case !ok:
	case IsOff(e):
		return Object{}, catalog.Value[bool]{V: true, Pos: r.Position(e.Value)}
	case e.Value.Kind != yaml.MappingNode:
		r.NeitherOffNor(e, o.What, "a mapping")
	default:
		inner, _ := r.Object(e.Value, key+" of "+o.What, known...)
		return inner, catalog.Value[bool]{V: false, Pos: r.Position(e.Value)}
	}
	return Object{}, catalog.Value[bool]{}
}

// Doc returns the doc of something: its key `doc`, or else the comment directly above its key, without the
// space around it.
func (r *Reader) Doc(key *yaml.Node, o Object) string {
	if _, ok := o.Entries["doc"]; !ok {
		return r.CommentAbove(key)
	}
	v, _ := r.TextOf(o, "doc")
	return strings.TrimSpace(v.V)
}

// CommentAbove returns the text of the comment that ends in the line before a key, or before an item of a list, and has
// the same indentation. It ends at a # without a space behind it: such comments are for readers of the file only.
func (r *Reader) CommentAbove(n *yaml.Node) string {
	pos := r.Position(n)
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
