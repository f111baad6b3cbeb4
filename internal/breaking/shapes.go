package breaking

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/lint"
)

// fields compares the fields of a payload, or of the struct type of that name. what is
// for messages, and at the place of findings about what is no longer there.
func (c *comparison) fields(what, ofType string, before, after []*catalog.Field, d Direction, at catalog.Position) {
	gone, added := without(before, after), without(after, before)
	report := func(r draft) {
		r.subject, r.ofType, r.versioned = c.current.Name.V, ofType, true
		c.report(r)
	}
	for _, f := range after {
		if old := fieldNamed(before, f.Name.V); old != nil {
			c.field(what, ofType, old, f, d)
			continue
		}
		if old := renamed(f, gone, added); old != nil {
			r := draft{rule: fieldRenamed, direction: d, at: f.Name.Pos, was: old.Name.Pos, effect: fieldRenamedEffect,
				message: fmt.Sprintf("field %s of %s looks like field %s that is gone", f.Name.V, what, old.Name.V),
				hint:    fmt.Sprintf("keep %s and give it go_name: %s", old.Name.V, f.GoName)}
			if f.Type.Optional {
				r.severity = lint.Note
			}
			report(r)
		} else if !f.Type.Optional && d&Backward != 0 {
			report(draft{rule: fieldAdded, direction: Backward, at: f.Name.Pos, effect: zeroValue,
				message: fmt.Sprintf("field %s of %s is new, and not optional", f.Name.V, what), hint: "make it optional"})
		}
	}
	for _, old := range gone {
		if !old.Type.Optional && d&Forward != 0 && !slices.ContainsFunc(added, func(f *catalog.Field) bool { return renamed(f, gone, added) == old }) {
			report(draft{rule: fieldRemoved, direction: Forward, at: at, was: old.Name.Pos, effect: zeroValue,
				message: fmt.Sprintf("field %s of %s is gone", old.Name.V, what),
				hint:    "make it optional first, and remove it when no program needs it any more"})
		}
	}
}

// without lists the fields that the others do not have.
func without(fields, others []*catalog.Field) (own []*catalog.Field) {
	for _, f := range fields {
		if fieldNamed(others, f.Name.V) == nil {
			own = append(own, f)
		}
	}
	return own
}

func fieldNamed(fields []*catalog.Field, name string) *catalog.Field {
	if i := slices.IndexFunc(fields, func(f *catalog.Field) bool { return f.Name.V == name }); i >= 0 {
		return fields[i]
	}
	return nil
}

// renamed finds the field that is gone and that a new one could have been: the only one
// of its type, among those that are gone and those that are new.
func renamed(f *catalog.Field, gone, added []*catalog.Field) *catalog.Field {
	same := func(g *catalog.Field) bool { return g.Type.Text == f.Type.Text }
	i := slices.IndexFunc(gone, same)
	if i < 0 || slices.ContainsFunc(gone[i+1:], same) {
		return nil
	}
	for _, other := range added {
		if other != f && same(other) {
			return nil
		}
	}
	return gone[i]
}

// field compares a field that is still there.
func (c *comparison) field(what, ofType string, old, now *catalog.Field, d Direction) {
	what = "field " + now.Name.V + " of " + what
	report := func(r draft) {
		r.at, r.was, r.subject, r.ofType, r.versioned = now.Type.Pos, old.Type.Pos, c.current.Name.V, ofType, true
		c.report(r)
	}
	switch {
	case old.Type.Optional && !now.Type.Optional && d&Backward != 0:
		report(draft{rule: fieldRequired, direction: Backward, effect: zeroValue, message: what + " is no longer optional", hint: "leave it optional"})
	case !old.Type.Optional && now.Type.Optional && d&Forward != 0:
		report(draft{rule: fieldOptional, direction: Forward, effect: zeroValue, message: what + " has become optional",
			hint: "go on filling it in until no old program is left"})
	}
	c.types(what, ofType, operand{old.Type, old.Constraints}, operand{now.Type, now.Constraints}, d)
	if d&Backward != 0 {
		c.constraints(what, old, now)
		c.defaults(what, old, now)
	}
}

// types compares types, inside and out.
func (c *comparison) types(what, ofType string, old, now operand, d Direction) {
	o, n := old.wire(), now.wire()
	switch {
	case custom(old.t) != custom(now.t): // by what is declared for it
		c.customs(what, ofType, old, now, d)
	case o.Kind == catalog.List && n.Kind == catalog.List:
		c.types("items of "+what, ofType, operand{t: o.Elem}, operand{t: n.Elem}, d)
	case o.Kind == catalog.Map && n.Kind == catalog.Map:
		c.types("values of "+what, ofType, operand{t: o.Elem}, operand{t: n.Elem}, d)
	case o.Kind == catalog.Named && n.Kind == catalog.Named && sameSort(o.Named, n.Named):
		c.named(o.Named, n.Named, d)
	default:
		c.changed(what, ofType, old, now, d)
	}
}

func sameSort(a, b *catalog.Type) bool {
	return a.IsStruct() && b.IsStruct() || a.IsUnion() && b.IsUnion() || a.IsEnum() && b.IsEnum() && a.Integer == b.Integer
}

// changed reports types of which one does not hold the values of the other.
func (c *comparison) changed(what, ofType string, old, now operand, d Direction) {
	for _, one := range []struct {
		direction     Direction
		writer, reads operand
	}{{Backward, old, now}, {Forward, now, old}} {
		if d&one.direction == 0 {
			continue
		}
		r := draft{rule: typeChanged, direction: one.direction, at: now.t.Pos, was: old.t.Pos, subject: c.current.Name.V, ofType: ofType, versioned: true,
			message: fmt.Sprintf("%s is %s and was %s", what, nameOf(now.t, old.t), nameOf(old.t, now.t))}
		switch fit(one.writer, one.reads) {
		case broken:
			r.severity, r.effect = lint.Error, undecodable
		case loose:
			r.severity, r.effect = lint.Warning, notAsSaid
		default:
			continue
		}
		c.report(r)
	}
}

// customs reports a custom Go type that has taken the place of another type, or is
// another one: nobody knows what it reads.
func (c *comparison) customs(what, ofType string, old, now operand, d Direction) {
	known := c.breaks
	c.breaks = false
	c.changed(what, ofType, old, now, d)
	told := c.breaks
	c.breaks = c.breaks || known
	if told {
		return
	}
	if custom(old.t) == "" {
		d &= Backward // what is no custom type reads all that is declared
	}
	if custom(now.t) == "" {
		d &= Forward
	}
	if d != 0 {
		c.report(draft{rule: customChanged, direction: d, at: now.t.Pos, was: old.t.Pos, subject: c.current.Name.V, ofType: ofType, effect: customEffect,
			message: fmt.Sprintf("%s is %s and was %s", what, nameOf(now.t, old.t), nameOf(old.t, now.t)), hint: "make sure that it reads what the other writes"})
	}
}

// nameOf is what a type is called in a message about another one too, which may have the
// same name.
func nameOf(t, other *catalog.TypeRef) string {
	name := bare(t)
	switch {
	case custom(t) != "":
		return custom(t)
	case name != bare(other) || t.Kind != catalog.Named:
		return name
	case t.Named.IsUnion():
		return name + ", a union"
	case t.Named.IsStruct():
		return name + ", a struct"
	case t.Named.Integer:
		return name + ", an enum of integers"
	}
	return name + ", an enum of texts"
}

// named compares declared types of the same sort.
func (c *comparison) named(old, now *catalog.Type, d Direction) {
	if d &^= c.seen[pair{old, now}]; d == 0 {
		return
	}
	c.seen[pair{old, now}] |= d
	switch {
	case now.IsEnum():
		c.enums(old, now, d)
	case now.IsUnion():
		c.unions(old, now, d)
	default:
		c.fields("type "+now.Name.V, now.Name.V, old.Fields, now.Fields, d, now.Name.Pos)
	}
}

func (c *comparison) unions(old, now *catalog.Type, d Direction) {
	report := func(r draft) {
		r.subject, r.ofType, r.versioned, r.effect = c.current.Name.V, now.Name.V, true, undecodable
		c.report(r)
	}
	if old.Discriminator.V != now.Discriminator.V {
		report(draft{rule: discriminatorChanged, direction: d, at: placeOr(now.Discriminator.Pos, now.Name.Pos), was: placeOr(old.Discriminator.Pos, old.Name.Pos),
			message: fmt.Sprintf("the discriminator of type %s is %s and was %s", now.Name.V, now.Discriminator.V, old.Discriminator.V), hint: "leave it as it was"})
		return
	}
	for _, v := range old.Variants {
		switch other := variantNamed(now, v.Name.V); {
		case other != nil:
			c.named(v.Type, other.Type, d)
		case d&Backward != 0:
			report(draft{rule: variantRemoved, direction: Backward, at: now.Name.Pos, was: v.Name.Pos,
				message: "variant " + v.Name.V + " of type " + now.Name.V + " is gone", hint: "keep it, and say in its doc that nobody writes it any more"})
		}
	}
	for _, v := range now.Variants {
		if variantNamed(old, v.Name.V) == nil && d&Forward != 0 {
			report(draft{rule: variantAdded, direction: Forward, at: v.Name.Pos, message: "variant " + v.Name.V + " of type " + now.Name.V + " is new", hint: twoSteps})
		}
	}
}

// twoSteps is how something comes in that old programs do not know.
const twoSteps = "deploy programs that know it everywhere before the first one publishes it"

func variantNamed(t *catalog.Type, name string) *catalog.Variant {
	for _, v := range t.Variants {
		if v.Name.V == name {
			return v
		}
	}
	return nil
}

func placeOr(at, other catalog.Position) catalog.Position {
	if at == (catalog.Position{}) {
		return other
	}
	return at
}
