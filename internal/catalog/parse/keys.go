package parse

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// keyField is a key of an event that names a field of its payload.
type keyField struct {
	name string
	rule *diag.Rule
	need string // why every event needs a value
}

var (
	partitionKey = keyField{"partition_by", rules.Partition, "events without a value would have no order"}
	dedupeKey    = keyField{"dedupe_by", rules.Dedupe, "events without a value would be stored twice"}
)

// of finds the field that the key names. A payload with findings of its own may be
// missing that field for another reason.
func (k keyField) of(r *Reader, o object, fields []*catalog.Field, payloadOK bool) *catalog.Field {
	e, ok := o.entries[k.name]
	if !ok {
		return nil
	}
	name, ok := r.text(e.value, k.name+" of "+o.what)
	if !ok {
		return nil
	}
	var names []string
	for _, f := range fields {
		if f.Label() == name.V {
			k.checkType(r, e, o.what, f)
			return f
		}
		names = append(names, f.Label())
	}
	if payloadOK {
		f := r.report(r.place(e.value), k.rule, "%s of %s names %q, which is not a field of its payload", k.name, o.what, name.V)
		f.Hint = diag.DidYouMean(name.V, names)
	}
	return nil
}

func (k keyField) checkType(r *Reader, e entry, what string, f *catalog.Field) {
	at := r.place(e.value)
	switch {
	case f.Type.MayBeNil():
		r.report(at, k.rule, "%s of %s names %s, which %s", k.name, what, f.Label(), lack(f.Type)).
			See(r.typeAt(f.Type), "the field is here").
			Hint = "choose a required field: " + k.need
	case !canBeKey(f.Type):
		r.report(at, k.rule, "%s of %s names %s, which has type %s", k.name, what, f.Label(), f.Type.Text).
			See(r.typeAt(f.Type), "the field is here").
			Hint = keyTypes
	}
}
