package catalog

import "github.com/busgen/busgen/internal/diag/rules"

// FormerKey is a key that is written by its former name.
type FormerKey struct {
	Key     Value[string] // as it is written: brake
	Present string        // what it is called now: failure_throttle
	Of      string        // what has it: event order.placed
}

// formerKeys has the present names of keys by their former ones. The language still
// accepts the former names.
var formerKeys = map[string]string{"brake": "failure_throttle"}

// PresentKey returns what the language calls a key now.
func PresentKey(key string) string {
	if present, ok := formerKeys[key]; ok {
		return present
	}
	return key
}

// formerKey reads an entry whose key has its former name as one that has its present name.
func (r *reader) formerKey(o object, present string, e entry) {
	if other, both := o.entries[present]; both {
		r.keyAndFormerKey(o, e, other)
		return
	}
	o.entries[present] = e
	r.formerKeys = append(r.formerKeys, &FormerKey{
		Key: Value[string]{V: e.name, Pos: r.position(e.key)}, Present: present, Of: o.what,
	})
}

// keyAndFormerKey reports a mapping that has a key by both of its names.
func (r *reader) keyAndFormerKey(o object, one, other entry) {
	present, former := one, other
	if PresentKey(present.name) != present.name {
		present, former = other, one
	}
	r.report(r.place(former.key), rules.Conflict, "%s has %s and %s", o.what, present.name, former.name).
		See(r.place(present.key), "%s is here", present.name).
		Hint = "keep " + present.name + ": " + former.name + " is its former name"
}
