package settings

import (
	"fmt"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/types"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// LimitKeys finds the fields by which limits count, when the settings are inherited: limits of the defaults and of
// policies must fit the payload of each event that has them. A use that does not is reported once.
func (r *Policies) LimitKeys() {
	faults := map[*catalog.LimitUse]*keyFault{}
	var order []*catalog.LimitUse
	for _, e := range r.declared.Events {
		known := map[string]bool{}
		note := func(s catalog.Settings) {
			for _, use := range s.Limits.V {
				if !use.By.Written() || known[use.By.V] {
					continue
				}
				fields, fault := fieldAt(e, use.By.V)
				switch before := faults[use]; {
				case fault == nil:
					known[use.By.V] = true
					e.LimitKeys = append(e.LimitKeys, &catalog.LimitKey{Path: use.By.V, Fields: fields})
				case r.declared.BrokenPayloads[e]: // which may be why
				case before == nil:
					faults[use] = fault
					order = append(order, use)
				case before.event != e:
					before.event = e
					before.others++
				}
			}
		}
		note(e.Settings)
		for _, s := range e.Declared() {
			note(s.Settings)
		}
	}
	for _, use := range order {
		fault := faults[use]
		also := ""
		if fault.others > 0 {
			also = fmt.Sprintf(" (and so for %d more)", fault.others)
		}
		f := r.Report(r.NameAt(use.By), rules.Limit, "limit %s is by %s, %s%s", use.Limit.Name.V, diag.Label(use.By.V), fault.what, also)
		if f.Hint = fault.hint; fault.at != nil {
			f.See(r.TypeAt(fault.at), "the field is here")
		}
	}
}

// A keyFault says why a path leads to no key.
type keyFault struct {
	what, hint string
	at         *catalog.TypeRef // of the field that is wrong
	event      *catalog.Event   // the last that has the fault
	others     int              // besides the first
}

// fieldAt follows a path through required structs to a field that can be a key.
func fieldAt(e *catalog.Event, path string) ([]*catalog.Field, *keyFault) {
	var along []*catalog.Field
	fields, in := e.Fields, "the payload of event "+e.Label()
	segments := strings.Split(path, ".")
	for i, segment := range segments {
		f, names := fieldNamed(fields, segment)
		if f == nil {
			fault := &keyFault{event: e, what: "but " + in + " has no field " + diag.Label(segment), hint: diag.DidYouMean(segment, names)}
			if fault.hint == "" {
				fault.hint = "correct the field, or give the event limits of its own: limits: off for none"
			}
			return nil, fault
		}
		along = append(along, f)
		in = strings.Join(segments[:i+1], ".") + " of event " + e.Label()
		last := i == len(segments)-1
		switch {
		case f.Type.MayBeNil():
			return nil, &keyFault{event: e, at: f.Type, what: "but " + in + " " + types.Lack(f.Type), hint: "choose a required field: events without a value would have no key"}
		case last && !types.CanBeKey(f.Type):
			return nil, &keyFault{event: e, at: f.Type, what: "but " + in + " has type " + f.Type.Text, hint: types.KeyTypes}
		case last:
			return along, nil
		case f.Type.Kind != catalog.Named || !f.Type.Named.IsStruct():
			return nil, &keyFault{event: e, at: f.Type, what: "but " + in + " has type " + f.Type.Text + ", which has no fields", hint: "a path leads through structs"}
		}
		fields = f.Type.Named.Fields
	}
	return along, nil
}

func fieldNamed(fields []*catalog.Field, name string) (*catalog.Field, []string) {
	var names []string
	for _, f := range fields {
		if f.Label() == name {
			return f, nil
		}
		names = append(names, f.Label())
	}
	return nil, names
}
