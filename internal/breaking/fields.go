package breaking

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// A fieldComparison compares the fields of one payload or struct by the keys of stored JSON: a field is
// written under its name, and also read under its former names.
type fieldComparison struct {
	*comparison
	in            part
	before, after fieldSet
	direction     diag.Direction
	at            diag.Position // the place for findings about a field that is gone

	// open has, for each new field, the fields that it may be a new name of: they are gone, and neither
	// former names nor reserved.
	open map[*catalog.Field][]*catalog.Field
	// asked has all fields in open.
	asked map[*catalog.Field]bool
}

// fields compares the fields of a payload or a struct type. at is the place for findings about a field that
// is gone.
func (c *comparison) fields(in part, before, after fieldSet, d diag.Direction, at diag.Position) {
	f := fieldComparison{comparison: c, in: in, before: before, after: after, direction: d, at: at}
	f.findOpen()
	for _, now := range after.fields {
		f.field(now)
		if d&diag.Forward != 0 {
			f.takenFor(now, before, after, diag.Forward, now.Name.Pos)
		}
	}
	for _, old := range before.fields {
		if !old.Removed {
			f.formerNames(old)
			f.gone(old)
			if d&diag.Backward != 0 {
				f.takenFor(old, after, before, diag.Backward, at)
			}
		}
	}
	f.reservedNames()
}

// takenFor reports a field that its reader has not, if it has one with a name that differs only in case. It reads the
// value for that field, as encoding/json does. The writer has both.
func (f *fieldComparison) takenFor(field *catalog.Field, reader, writer fieldSet, d diag.Direction, at diag.Position) {
	if reader.reader(field.Name.V) != nil {
		return
	}
	for _, other := range reader.fields {
		if !other.Removed && catalog.SameJSONName(other.Name.V, field.Name.V) && fieldNamed(writer.fields, other.Name.V) != nil {
			is := "new"
			if d == diag.Backward {
				is = "gone"
			}
			f.report(draft{rule: fieldRenamed, direction: d, at: at, was: other.Name.Pos, effect: readForAnother,
				message: fmt.Sprintf("field %s of %s is %s, and differs from field %s only in case", field.Name.V, f.in.what, is, other.Name.V),
				hint:    "keep both, or neither"}, field.Name.V)
		}
	}
}

func (f *fieldComparison) report(r draft, name string) {
	r.subject, r.ofType, r.versioned, r.key = f.current.Name.V, f.in.ofType, true, f.in.field(name).key
	f.comparison.report(r)
}

// predecessor returns the old field with the name of a field, or else with one of its former names, or nil
// if the field is new.
func (f *fieldComparison) predecessor(now *catalog.Field) *catalog.Field {
	for _, key := range keysOf(now) {
		if old := fieldNamed(f.before.byKey[key], key); old != nil && !old.Removed {
			return old
		}
	}
	return nil
}

// field compares a field with its predecessor, and its type with everything that stored events may have
// under its keys.
func (f *fieldComparison) field(now *catalog.Field) {
	p, old, d := f.in.field(now.Name.V), f.predecessor(now), f.direction
	switch {
	case old == nil:
		f.added(now)
	case slices.Contains(keysOf(old), now.Name.V):
		f.comparison.field(p, old, now, d)
	default:
		if f.comparison.field(p, old, now, d&diag.Backward); d&diag.Forward != 0 {
			f.report(draft{rule: fieldRenamed, direction: diag.Forward, at: now.Name.Pos, was: old.Name.Pos, effect: renamedEffect,
				message: fmt.Sprintf("field %s of %s was %s", now.Name.V, f.in.what, old.Name.V), hint: twoSteps}, old.Name.V+"->"+now.Name.V)
		}
	}
	p.hint = "choose another name for it"
	for _, key := range keysOf(now) {
		for _, other := range f.before.byKey[key] {
			if other != old {
				f.types(p, operand{other.Type, other.Constraints}, operand{now.Type, now.Constraints}, d&diag.Backward)
			}
		}
	}
}

// findOpen finds, for each new field, the fields that it may be a new name of: fields that are gone, with a
// type that the new field reads, and neither former names nor reserved.
func (f *fieldComparison) findOpen() {
	gone := map[string][]*catalog.Field{} // by type and bounds
	var types []string
	for _, old := range f.before.fields {
		if old.Removed || f.after.reader(old.Name.V) != nil || f.after.reserves[old.Name.V] {
			continue
		}
		t := fmt.Sprintf("%s %s %s", bare(old.Type), old.Constraints.Min.V.Text, old.Constraints.Max.V.Text)
		if gone[t] == nil {
			types = append(types, t)
		}
		gone[t] = append(gone[t], old)
	}
	f.open, f.asked = map[*catalog.Field][]*catalog.Field{}, map[*catalog.Field]bool{}
	for _, now := range f.after.fields {
		if f.predecessor(now) != nil {
			continue
		}
		if old := f.called(now, gone); old != nil {
			f.open[now], f.asked[old] = []*catalog.Field{old}, true
			continue
		}
		for _, t := range types {
			if fit(operand{gone[t][0].Type, gone[t][0].Constraints}, operand{now.Type, now.Constraints}) < broken {
				f.open[now] = append(f.open[now], gone[t][:min(len(gone[t]), maxOpen)]...)
			}
			if len(f.open[now]) >= maxOpen {
				f.open[now] = f.open[now][:maxOpen]
				break
			}
		}
		for _, old := range f.open[now] {
			f.asked[old] = true
		}
	}
}

// called returns the field that is gone and has the name of a new one in the catalogue: only the name in JSON has
// changed. It is nil if there is none with a type that the new field reads.
func (f *fieldComparison) called(now *catalog.Field, gone map[string][]*catalog.Field) *catalog.Field {
	for _, same := range gone {
		for _, old := range same {
			if old.Label() == now.Label() && fit(operand{old.Type, old.Constraints}, operand{now.Type, now.Constraints}) < broken {
				return old
			}
		}
	}
	return nil
}

// maxOpen is the largest number of fields that a message names.
const maxOpen = 3

// added reports a new field.
func (f *fieldComparison) added(now *catalog.Field) {
	if open := f.open[now]; len(open) > 0 {
		f.report(draft{rule: fieldRenamed, direction: f.direction, at: now.Name.Pos, was: open[0].Name.Pos, effect: renamedEffect,
			message: fmt.Sprintf("field %s of %s is new, and may be a new name of %s", now.Name.V, f.in.what, whichIsGone(open)),
			hint:    f.renameHint(open[0], now)}, namesOf(open, ",")+"->"+now.Name.V)
		return
	}
	if f.direction&diag.Backward != 0 && !now.Type.MayBeNil() && !now.Default.Written() {
		f.report(draft{rule: fieldAdded, direction: diag.Backward, at: now.Name.Pos, effect: zeroValue,
			message: fmt.Sprintf("field %s of %s is new, and is required", now.Name.V, f.in.what), hint: orDefault("make it optional", now)}, now.Name.V)
	}
}

func (f *fieldComparison) renameHint(old, now *catalog.Field) string {
	if f.in.history {
		return "history describes stored events: leave it as it was"
	}
	beside := "payload"
	if f.in.ofType != "" {
		beside = "fields"
	}
	hint := fmt.Sprintf("if it was renamed, write was: %s beside its type; if %s is really gone, add it to reserved beside %s", old.Name.V, old.Name.V, beside)
	if old.Label() == now.Label() && now.Label() != "" {
		hint = fmt.Sprintf("to keep the name in JSON, write json: %s beside the type of %s; ", old.Name.V, now.Label()) + hint
	}
	return hint
}

func whichIsGone(fields []*catalog.Field) string {
	if len(fields) == 1 {
		return "field " + fields[0].Name.V + ", which is gone"
	}
	return "one of fields " + namesOf(fields, ", ") + ", which are gone"
}

func namesOf(fields []*catalog.Field, separator string) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name.V)
	}
	return strings.Join(names, separator)
}

// orDefault adds to a hint that a default would help, if the field can have one.
func orDefault(hint string, f *catalog.Field) string {
	if f.Type.TakesDefault() {
		return hint + ", give it a default"
	}
	return hint
}

// gone reports a field that new events no longer have. For a field that may have no value this is only a note.
func (f *fieldComparison) gone(old *catalog.Field) {
	if f.direction&diag.Forward == 0 || f.asked[old] {
		return
	}
	if now := f.after.reader(old.Name.V); now != nil && f.predecessor(now) == old {
		return // it still exists, or was renamed
	}
	removed := draft{rule: fieldRemoved, direction: diag.Forward, at: f.at, was: old.Name.Pos, effect: zeroValue,
		message: fmt.Sprintf("field %s of %s is gone", old.Name.V, f.in.what),
		hint:    "make it optional first, and remove it when no program needs it any more"}
	if old.Type.MayBeNil() {
		if f.after.reserves[old.Name.V] {
			return
		}
		removed.severity, removed.effect, removed.hint = diag.Note, effect{}, "wire.golden keeps its name for the type that it had"
	}
	f.report(removed, old.Name.V)
}

// formerNames reports former names of a field that are no longer read.
func (f *fieldComparison) formerNames(old *catalog.Field) {
	if f.direction&diag.Backward == 0 {
		return
	}
	successor := f.after.reader(old.Name.V)
	for _, was := range old.Was {
		switch now := f.after.reader(was.V); {
		case now == successor:
		case now != nil:
			f.report(draft{rule: wasMoved, direction: diag.Backward, at: now.Name.Pos, was: was.Pos, effect: anotherField,
				message: fmt.Sprintf("%s is a name of field %s of %s, and was a name of field %s", was.V, now.Name.V, f.in.what, old.Name.V),
				hint:    "give it back to the field that had it"}, was.V)
		case !f.after.reserves[was.V]:
			f.report(draft{rule: wasRemoved, direction: diag.Backward, at: successor.Name.Pos, was: was.Pos, effect: notRead,
				message: fmt.Sprintf("former name %s of field %s of %s is gone", was.V, successor.Name.V, f.in.what),
				hint:    "keep it as long as a file has events from before the rename"}, was.V)
		}
	}
}

// reservedNames reports names that are no longer reserved.
func (f *fieldComparison) reservedNames() {
	if f.direction&diag.Backward == 0 {
		return
	}
	for _, name := range f.before.reserved {
		now := f.after.reader(name.V)
		switch {
		case f.after.reserves[name.V]:
		case now == nil:
			f.report(draft{rule: reservedRemoved, severity: diag.Note, direction: diag.Backward, at: f.at, was: name.Pos,
				message: fmt.Sprintf("name %s of %s is no longer reserved", name.V, f.in.what)}, name.V)
		case len(f.before.byKey[name.V]) == 0: // otherwise its type is known and was compared
			f.report(draft{rule: reservedRemoved, direction: diag.Backward, at: now.Name.Pos, was: name.Pos, effect: anotherField,
				message: fmt.Sprintf("%s is a name of field %s of %s, and was reserved", name.V, now.Name.V, f.in.what),
				hint:    "give the field another name"}, name.V)
		}
	}
}

// field compares two fields, one of which reads what the other one writes.
func (c *comparison) field(p part, old, now *catalog.Field, d diag.Direction) {
	report := func(r draft) {
		r.at, r.was, r.subject, r.ofType, r.versioned, r.key = now.Type.Pos, old.Type.Pos, c.current.Name.V, p.ofType, true, p.key
		c.report(r)
	}
	switch {
	case old.Type.MayBeNil() && !now.Type.MayBeNil() && !now.Default.Written() && d&diag.Backward != 0:
		report(draft{rule: fieldRequired, direction: diag.Backward, effect: zeroValue, message: p.what + " is no longer " + mark(old), hint: orDefault("leave it "+mark(old), now)})
	case !old.Type.MayBeNil() && now.Type.MayBeNil() && d&diag.Forward != 0:
		report(draft{rule: fieldOptional, direction: diag.Forward, effect: zeroValue, message: p.what + " has become " + mark(now),
			hint: "keep filling it in until no old program is left"})
	}
	c.types(p, operand{old.Type, old.Constraints}, operand{now.Type, now.Constraints}, d)
	if d&diag.Backward != 0 {
		c.constraints(p, old, now)
		c.defaults(p, old, now)
	}
}

// mark is the word for a field that may have no value.
func mark(f *catalog.Field) string {
	if f.Type.Nullable {
		return "nullable"
	}
	return "optional"
}
