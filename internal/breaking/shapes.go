package breaking

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/lint"
)

// A part is a payload, a type, or something inside of one.
type part struct {
	what   string // for messages: "field email of event order.placed"
	ofType string // the type that it is in, if it is in one
	key    string // for keys: "order.placed 1 email"
}

func typePart(t *catalog.Type) part { return part{"type " + t.Name.V, t.Name.V, t.Name.V} }

func (p part) field(name string) part {
	return part{"field " + name + " of " + p.what, p.ofType, p.key + " " + name}
}

// elements are the items of a list or the values of a map.
func (p part) elements(word string) part {
	return part{word + " of " + p.what, p.ofType, p.key + "[]"}
}

// fields compares the fields of a payload or a struct type. at is the place of findings
// about a field that is gone.
func (c *comparison) fields(in part, before, after []*catalog.Field, d Direction, at catalog.Position) {
	gone, added := without(before, after), without(after, before)
	report := func(r draft, name string) {
		r.subject, r.ofType, r.versioned, r.key = c.current.Name.V, in.ofType, true, in.field(name).key
		c.report(r)
	}
	for _, f := range after {
		if old := fieldNamed(before, f.Name.V); old != nil {
			c.field(in.field(f.Name.V), old, f, d)
			continue
		}
		if old := renamed(f, gone, added); old != nil {
			r := draft{rule: fieldRenamed, direction: d, at: f.Name.Pos, was: old.Name.Pos, effect: fieldRenamedEffect,
				message: fmt.Sprintf("field %s of %s looks like field %s that is gone", f.Name.V, in.what, old.Name.V),
				hint:    fmt.Sprintf("keep %s and give it go_name: %s", old.Name.V, f.GoName)}
			if f.Type.Optional {
				r.severity = lint.Note
			}
			report(r, f.Name.V)
		} else if !f.Type.Optional && d&Backward != 0 {
			report(draft{rule: fieldAdded, direction: Backward, at: f.Name.Pos, effect: zeroValue,
				message: fmt.Sprintf("field %s of %s is new, and not optional", f.Name.V, in.what), hint: "make it optional"}, f.Name.V)
		}
	}
	for _, old := range gone {
		if !old.Type.Optional && d&Forward != 0 && !slices.ContainsFunc(added, func(f *catalog.Field) bool { return renamed(f, gone, added) == old }) {
			report(draft{rule: fieldRemoved, direction: Forward, at: at, was: old.Name.Pos, effect: zeroValue,
				message: fmt.Sprintf("field %s of %s is gone", old.Name.V, in.what),
				hint:    "make it optional first, and remove it when no program needs it any more"}, old.Name.V)
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
func (c *comparison) field(p part, old, now *catalog.Field, d Direction) {
	report := func(r draft) {
		r.at, r.was, r.subject, r.ofType, r.versioned, r.key = now.Type.Pos, old.Type.Pos, c.current.Name.V, p.ofType, true, p.key
		c.report(r)
	}
	switch {
	case old.Type.Optional && !now.Type.Optional && d&Backward != 0:
		report(draft{rule: fieldRequired, direction: Backward, effect: zeroValue, message: p.what + " is no longer optional", hint: "leave it optional"})
	case !old.Type.Optional && now.Type.Optional && d&Forward != 0:
		report(draft{rule: fieldOptional, direction: Forward, effect: zeroValue, message: p.what + " has become optional",
			hint: "go on filling it in until no old program is left"})
	}
	c.types(p, operand{old.Type, old.Constraints}, operand{now.Type, now.Constraints}, d)
	if d&Backward != 0 {
		c.constraints(p, old, now)
		c.defaults(p, old, now)
	}
}

// types compares types, inside and out.
func (c *comparison) types(p part, old, now operand, d Direction) {
	o, n := old.wire(), now.wire()
	switch {
	case custom(old.t) != custom(now.t): // by what is declared for it
		c.customs(p, old, now, d)
	case o.Kind == catalog.List && n.Kind == catalog.List:
		c.types(p.elements("items"), operand{t: o.Elem}, operand{t: n.Elem}, d)
	case o.Kind == catalog.Map && n.Kind == catalog.Map:
		c.types(p.elements("values"), operand{t: o.Elem}, operand{t: n.Elem}, d)
	case o.Kind == catalog.Named && n.Kind == catalog.Named && sameSort(o.Named, n.Named):
		c.named(o.Named, n.Named, d)
	default:
		c.changed(p, old, now, d)
	}
}

func sameSort(a, b *catalog.Type) bool {
	return a.IsStruct() && b.IsStruct() || a.IsUnion() && b.IsUnion() || a.IsEnum() && b.IsEnum() && a.Integer == b.Integer
}

// changed reports types of which one does not hold the values of the other.
func (c *comparison) changed(p part, old, now operand, d Direction) {
	for _, one := range []struct {
		direction     Direction
		writer, reads operand
	}{{Backward, old, now}, {Forward, now, old}} {
		if d&one.direction == 0 {
			continue
		}
		r := draft{rule: typeChanged, direction: one.direction, at: now.t.Pos, was: old.t.Pos, subject: c.current.Name.V, ofType: p.ofType, versioned: true,
			key: p.changedKey(old.t, now.t), message: fmt.Sprintf("%s is %s and was %s", p.what, nameOf(now.t, old.t), nameOf(old.t, now.t))}
		switch fit(one.writer, one.reads) {
		case broken:
			r.severity, r.effect = lint.Error, undecodable
		case altered:
			r.severity, r.effect = lint.Warning, otherValue
		case bounded:
			r.severity, r.effect = lint.Warning, onlyWithin
		case loose:
			r.severity, r.effect = lint.Warning, notAsSaid
		default:
			continue
		}
		c.report(r)
	}
}

// changedKey has both types: what accepts one change does not accept the next.
func (p part) changedKey(old, now *catalog.TypeRef) string {
	return fmt.Sprintf("%s %s->%s", p.key, keyName(old), keyName(now))
}

// keyName is the name of a type without blanks.
func keyName(t *catalog.TypeRef) string {
	if name := custom(t); name != "" {
		return name
	}
	return strings.ReplaceAll(bare(t), " ", "")
}

// customs reports a custom Go type that has taken the place of another type, or is
// another one: nobody knows what it reads.
func (c *comparison) customs(p part, old, now operand, d Direction) {
	known := c.breaks
	c.breaks = false
	c.changed(p, old, now, d)
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
		c.report(draft{rule: customChanged, direction: d, at: now.t.Pos, was: old.t.Pos, subject: c.current.Name.V, ofType: p.ofType, effect: customEffect, key: p.changedKey(old.t, now.t),
			message: fmt.Sprintf("%s is %s and was %s", p.what, nameOf(now.t, old.t), nameOf(old.t, now.t)), hint: "make sure that it reads what the other writes"})
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
		c.fields(typePart(now), old.Fields, now.Fields, d, now.Name.Pos)
	}
}

func (c *comparison) unions(old, now *catalog.Type, d Direction) {
	report := func(r draft, name string) {
		r.subject, r.ofType, r.versioned, r.effect, r.key = c.current.Name.V, now.Name.V, true, undecodable, now.Name.V+" "+name
		c.report(r)
	}
	if old.Discriminator.V != now.Discriminator.V {
		report(draft{rule: discriminatorChanged, direction: d, at: placeOr(now.Discriminator.Pos, now.Name.Pos), was: placeOr(old.Discriminator.Pos, old.Name.Pos),
			message: fmt.Sprintf("the discriminator of type %s is %s and was %s", now.Name.V, now.Discriminator.V, old.Discriminator.V), hint: "leave it as it was"}, old.Discriminator.V+"->"+now.Discriminator.V)
		return
	}
	for _, v := range old.Variants {
		switch other := variantNamed(now, v.Name.V); {
		case other != nil:
			c.named(v.Type, other.Type, d)
		case d&Backward != 0:
			report(draft{rule: variantRemoved, direction: Backward, at: now.Name.Pos, was: v.Name.Pos,
				message: "variant " + v.Name.V + " of type " + now.Name.V + " is gone", hint: "keep it, and say in its doc that nobody writes it any more"}, v.Name.V)
		}
	}
	for _, v := range now.Variants {
		if variantNamed(old, v.Name.V) == nil && d&Forward != 0 {
			report(draft{rule: variantAdded, direction: Forward, at: v.Name.Pos, message: "variant " + v.Name.V + " of type " + now.Name.V + " is new", hint: twoSteps}, v.Name.V)
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
