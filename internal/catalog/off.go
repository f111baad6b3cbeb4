package catalog

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// off is the word that switches a setting off.
const off = "off"

// isOff tells whether the value of e is that word.
func isOff(e entry) bool { return e.value.ShortTag() == "!!str" && e.value.Value == off }

// neitherOffNor reports a value that could be off or something else.
func (r *reader) neitherOffNor(e entry, what, want string) {
	n := e.value
	if n.ShortTag() != "!!str" {
		r.wrongKind(n, e.name+" of "+what, off+" or "+want)
		return
	}
	f := r.report(r.place(n), rules.UnknownValue, "%s of %s is %q", e.name, what, n.Value)
	if f.Hint = diag.DidYouMean(n.Value, []string{off}); f.Hint == "" {
		f.Hint = "it is " + off + " or " + want
	}
}

// switchable reads a mapping, or the word that switches off what it is about.
// The value says which of the two it was; the object is empty unless it was the mapping.
func (r *reader) switchable(o object, key string, known ...string) (object, Value[bool]) {
	e, ok := o.entries[key]
	switch {
	case !ok:
	case isOff(e):
		return object{}, Value[bool]{V: true, Pos: r.position(e.value)}
	case e.value.Kind != yaml.MappingNode:
		r.neitherOffNor(e, o.what, "a mapping")
	default:
		inner, _ := r.object(e.value, key+" of "+o.what, known...)
		return inner, Value[bool]{V: false, Pos: r.position(e.value)}
	}
	return object{}, Value[bool]{}
}
