package parse

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

// formerKey reads an entry whose key has its former name as one that has its present name.
func (r *reader) formerKey(o object, present string, e entry) {
	if other, both := o.entries[present]; both {
		r.keyAndFormerKey(o, e, other)
		return
	}
	o.entries[present] = e
	r.formerKeys = append(r.formerKeys, &catalog.FormerKey{
		Key: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}, Present: present, Of: o.what,
	})
}

// keyAndFormerKey reports a mapping that has a key by both of its names.
func (r *reader) keyAndFormerKey(o object, one, other entry) {
	present, former := one, other
	if catalog.PresentKey(present.name) != present.name {
		present, former = other, one
	}
	r.report(r.place(former.key), rules.Conflict, "%s has %s and %s", o.what, present.name, former.name).
		See(r.place(present.key), "%s is here", present.name).
		Hint = "keep " + present.name + ": " + former.name + " is its former name"
}
