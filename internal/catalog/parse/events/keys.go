package events

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/catalog/parse/types"
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
func (k keyField) of(r *text.Reader, o text.Object, fields []*catalog.Field, payloadOK bool) *catalog.Field {
	name, n := r.TextOf(o, k.name)
	if n == nil {
		return nil
	}
	var names []string
	for _, f := range fields {
		if f.Label() == name.V {
			k.checkType(r, r.Place(n), o.What, f)
			return f
		}
		names = append(names, f.Label())
	}
	if payloadOK {
		f := r.Report(r.Place(n), k.rule, "%s of %s names %q, which is not a field of its payload", k.name, o.What, name.V)
		f.Hint = diag.DidYouMean(name.V, names)
	}
	return nil
}

func (k keyField) checkType(r *text.Reader, at diag.Place, what string, f *catalog.Field) {
	switch {
	case f.Type.MayBeNil():
		r.Report(at, k.rule, "%s of %s names %s, which %s", k.name, what, f.Label(), types.Lack(f.Type)).
			See(r.TypeAt(f.Type), "the field is here").
			Hint = "choose a required field: " + k.need
	case !types.CanBeKey(f.Type):
		r.Report(at, k.rule, "%s of %s names %s, which has type %s", k.name, what, f.Label(), f.Type.Text).
			See(r.TypeAt(f.Type), "the field is here").
			Hint = types.KeyTypes
	}
}
