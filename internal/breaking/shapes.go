package breaking

import (
	"fmt"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// A part is a payload, a type, or a part of one.
type part struct {
	what   string // for messages: "field email of event order.placed"
	ofType string // the declared type that it is in, if any
	key    string // for keys: "order.placed 1 email"

	history bool   // it is the payload of an old version
	hint    string // the advice besides a new version, if its type does not fit
}

func typePart(t *catalog.Type) part {
	return part{what: "type " + t.Name.V, ofType: t.Name.V, key: t.Name.V}
}

func (p part) field(name string) part {
	p.what, p.key = "field "+name+" of "+p.what, p.key+" "+name
	return p
}

// elements returns the part for the items of a list or the values of a map.
func (p part) elements(word string) part {
	p.what, p.key = word+" of "+p.what, p.key+"[]"
	return p
}

// types compares types, and the types inside them.
func (c *comparison) types(p part, old, now operand, d diag.Direction) {
	o, n := old.wire(), now.wire()
	switch {
	case custom(old.t) != custom(now.t): // by the declared Go type
		c.customs(p, old, now, d)
	case o.Kind == catalog.List && n.Kind == catalog.List:
		c.types(p.elements("items"), old.each(), now.each(), d)
	case o.Kind == catalog.Map && n.Kind == catalog.Map:
		c.types(p.elements("values"), old.each(), now.each(), d)
	case o.Kind == catalog.Named && n.Kind == catalog.Named && sameSort(o.Named, n.Named):
		c.named(o.Named, n.Named, d)
	default:
		c.changed(p, old, now, d)
	}
}

func sameSort(a, b *catalog.Type) bool {
	return a.IsStruct() && b.IsStruct() || a.IsUnion() && b.IsUnion() || a.IsEnum() && b.IsEnum() && a.Integer == b.Integer
}

// changed reports a type that cannot have all values of the other one.
func (c *comparison) changed(p part, old, now operand, d diag.Direction) {
	for _, one := range []struct {
		direction     diag.Direction
		writer, reads operand
	}{{diag.Backward, old, now}, {diag.Forward, now, old}} {
		if d&one.direction == 0 {
			continue
		}
		r := draft{rule: typeChanged, direction: one.direction, at: now.t.Pos, was: old.t.Pos, subject: c.current.Name.V, ofType: p.ofType, versioned: true, hint: p.hint,
			key: p.changedKey(old.t, now.t), message: fmt.Sprintf("%s is %s and was %s", p.what, nameOf(now.t, old.t), nameOf(old.t, now.t))}
		switch fit(one.writer, one.reads) {
		case broken:
			r.severity, r.effect = diag.Error, undecodable
		case altered:
			r.severity, r.effect = diag.Warning, otherValue
		case bounded:
			r.severity, r.effect = diag.Warning, onlyWithin
		case loose:
			r.severity, r.effect = diag.Warning, notAsSaid
		default:
			continue
		}
		c.report(r)
	}
}

// changedKey returns a key with both types, so that accepting one change does not accept the next.
func (p part) changedKey(old, now *catalog.TypeRef) string {
	return fmt.Sprintf("%s %s->%s", p.key, keyName(old), keyName(now))
}

// keyName returns the name of a type without blanks.
func keyName(t *catalog.TypeRef) string {
	if name := custom(t); name != "" {
		return name
	}
	return strings.ReplaceAll(bare(t), " ", "")
}

// customs reports a change from or to a custom Go type, or between two: only their own code knows what they
// read.
func (c *comparison) customs(p part, old, now operand, d diag.Direction) {
	known := c.breaks
	c.breaks = false
	c.changed(p, old, now, d)
	told := c.breaks
	c.breaks = c.breaks || known
	if told {
		return
	}
	if custom(old.t) == "" {
		d &= diag.Backward // the JSON of other types is known
	}
	if custom(now.t) == "" {
		d &= diag.Forward
	}
	if d != 0 {
		c.report(draft{rule: customChanged, direction: d, at: now.t.Pos, was: old.t.Pos, subject: c.current.Name.V, ofType: p.ofType, effect: customEffect, key: p.changedKey(old.t, now.t),
			message: fmt.Sprintf("%s is %s and was %s", p.what, nameOf(now.t, old.t), nameOf(old.t, now.t)), hint: "make sure that each type reads the JSON of the other"})
	}
}

// nameOf returns the name of a type for a message about two types, which may have the same name.
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
	return name + ", an enum of strings"
}

// named compares declared types of the same kind.
func (c *comparison) named(old, now *catalog.Type, d diag.Direction) {
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
		c.fields(typePart(now), fieldsOf(old), fieldsOf(now), d, now.Name.Pos)
	}
}

func (c *comparison) unions(old, now *catalog.Type, d diag.Direction) {
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
		case d&diag.Backward != 0:
			report(draft{rule: variantRemoved, direction: diag.Backward, at: now.Name.Pos, was: v.Name.Pos,
				message: "variant " + v.Name.V + " of type " + now.Name.V + " is gone", hint: "keep it, and say in its doc that it is no longer written"}, v.Name.V)
		}
	}
	for _, v := range old.RemovedVariants {
		if other := variantNamed(now, v.Name.V); other != nil {
			c.named(v.Type, other.Type, d&diag.Backward)
		}
	}
	for _, v := range now.Variants {
		if variantNamed(old, v.Name.V) == nil && d&diag.Forward != 0 {
			report(draft{rule: variantAdded, direction: diag.Forward, at: v.Name.Pos, message: "variant " + v.Name.V + " of type " + now.Name.V + " is new", hint: twoSteps}, v.Name.V)
		}
	}
}

// twoSteps advises how to introduce something that old programs do not know.
const twoSteps = "deploy programs that know it everywhere before the first one publishes it"

func variantNamed(t *catalog.Type, name string) *catalog.Variant {
	for _, v := range t.Variants {
		if v.Name.V == name {
			return v
		}
	}
	return nil
}

func placeOr(at, other diag.Position) diag.Position {
	if !at.IsKnown() {
		return other
	}
	return at
}
