package parse

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

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
