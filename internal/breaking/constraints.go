package breaking

import (
	"fmt"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// constraints reports constraints of a field that are new or tighter. Decoding stored events does not check
// them, but an event that is corrected or published again must keep them.
func (c *comparison) constraints(p part, old, now *catalog.Field) {
	c.tightened(p, old, now.Type, "", old.Constraints, now.Constraints)
}

// tightened compares the constraints of a field, or those inside of a list or map, whose path is given: items.values. The
// type is that of what they constrain now.
func (c *comparison) tightened(p part, old *catalog.Field, t *catalog.TypeRef, inside string, o, n catalog.Constraints) {
	report := func(name, is, was string, at diag.Position) {
		if was != "" {
			was = " and was " + was
		}
		name = inside + name
		c.report(draft{rule: constraintTightened, direction: diag.Backward, at: at, was: old.Name.Pos, subject: c.current.Name.V,
			key: p.key + " " + name, message: fmt.Sprintf("%s of %s is %s%s", name, p.what, is, was)})
	}
	for _, one := range []struct {
		name    string
		was, is catalog.Value[catalog.Bound]
		tighter int // the result of Compare if the bound is tighter
	}{{"min", o.Min, n.Min, 1}, {"max", o.Max, n.Max, -1}} {
		if one.is.Written() && (!one.was.Written() || one.is.V.Compare(one.was.V) == one.tighter) {
			report(one.name, one.is.V.Text, one.was.V.Text, one.is.Pos)
		}
	}
	for _, one := range []struct {
		name     string
		was, is  catalog.Value[int]
		isTooLow bool
	}{
		{"min_length", o.MinLength, n.MinLength, false}, {"max_length", o.MaxLength, n.MaxLength, true},
		{"min_items", o.MinItems, n.MinItems, false}, {"max_items", o.MaxItems, n.MaxItems, true},
	} {
		if one.is.Written() && (!one.was.Written() || one.isTooLow && one.is.V < one.was.V || !one.isTooLow && one.is.V > one.was.V) {
			report(one.name, fmt.Sprint(one.is.V), written(one.was), one.is.Pos)
		}
	}
	if is, was := n.Pattern.V.Text, o.Pattern.V.Text; n.Pattern.Written() && is != was {
		report("pattern", is, was, n.Pattern.Pos)
	}
	if is, was := n.Format.V, o.Format.V; n.Format.Written() && is != was {
		report("format", is, was, n.Format.Pos)
	}
	if n.Unique.V && !o.Unique.V {
		report("unique", "true", "", n.Unique.Pos)
	}
	if n.Each != nil && t.IsCollection() {
		c.tightened(p, old, t.Elem, inside+catalog.EachWord(t.Kind)+".", o.OfEach(), *n.Each)
	}
}

func written(v catalog.Value[int]) string {
	if !v.Written() {
		return ""
	}
	return fmt.Sprint(v.V)
}

func (c *comparison) defaults(p part, old, now *catalog.Field) {
	if string(old.Default.V) == string(now.Default.V) {
		return
	}
	is, was := strings.TrimSpace(string(now.Default.V)), strings.TrimSpace(string(old.Default.V))
	at := placeOr(now.Default.Pos, now.Name.Pos)
	r := draft{rule: defaultChanged, severity: diag.Note, direction: diag.Backward, at: at, was: placeOr(old.Default.Pos, old.Name.Pos), subject: c.current.Name.V,
		key: p.key, message: fmt.Sprintf("the default of %s is %s and was %s", p.what, orNothing(is), orNothing(was))}
	if !old.Type.MayBeNil() && !now.Type.MayBeNil() && !now.Default.Written() {
		r.severity, r.effect, r.hint, r.versioned, r.ofType = diag.Warning, zeroValue, "keep it", true, p.ofType
	}
	c.report(r)
}
