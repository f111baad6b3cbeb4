package breaking

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// enums compares enums by the JSON of their values. In an enum of integers a value can get another name,
// because only the number is stored.
func (c *comparison) enums(old, now *catalog.Type, d diag.Direction) {
	report := func(r draft, name string) {
		r.subject, r.ofType, r.versioned, r.key = c.current.Name.V, now.Name.V, true, now.Name.V+" "+name
		c.report(r)
	}
	moved := map[int]bool{} // the numbers of values that were renumbered, before and after
	for _, v := range now.Values {
		before := valueNamed(old, v.Name.V)
		if !now.Integer || before == nil || before.Number == v.Number {
			continue
		}
		moved[before.Number], moved[v.Number] = true, true
		report(draft{rule: enumRenumbered, direction: d, at: v.Name.Pos, was: before.Name.Pos, effect: renumbered,
			message: fmt.Sprintf("value %s of type %s is %d and was %d", diag.Label(v.Name.V), now.Name.V, v.Number, before.Number), hint: "leave the number as it was, and give new values new ones"}, fmt.Sprintf("%s %d->%d", diag.Label(v.Name.V), before.Number, v.Number))
	}
	for _, v := range now.Values {
		if d&diag.Backward == 0 || !now.Integer || holds(old, now, v) {
			continue
		}
		for _, before := range old.RemovedValues {
			if before.Number == v.Number && before.Name.V != v.Name.V {
				report(draft{rule: enumRenumbered, direction: diag.Backward, at: v.Name.Pos, was: before.Name.Pos, effect: renumbered,
					message: fmt.Sprintf("value %s of type %s is %d, which was the number of the removed value %s", diag.Label(v.Name.V), now.Name.V, v.Number, diag.Label(before.Name.V)),
					hint:    "give it a number that no value ever had"}, fmt.Sprintf("%s->%s %d", diag.Label(before.Name.V), diag.Label(v.Name.V), v.Number))
			}
		}
	}
	for _, v := range old.Values {
		if d&diag.Backward != 0 && !moved[v.Number] && !holds(now, old, v) {
			report(draft{rule: enumValueRemoved, direction: diag.Backward, at: now.Name.Pos, was: v.Name.Pos, effect: notAsSaid,
				message: "value " + diag.Label(v.Name.V) + " of type " + now.Name.V + " is gone", hint: keptValue(v, now)}, diag.Label(v.Name.V))
		}
	}
	for _, v := range now.Values {
		if d&diag.Forward != 0 && !moved[v.Number] && !holds(old, now, v) {
			report(draft{rule: enumValueAdded, direction: diag.Forward, at: v.Name.Pos, effect: notAsSaid,
				message: "value " + diag.Label(v.Name.V) + " of type " + now.Name.V + " is new", hint: twoSteps}, diag.Label(v.Name.V))
		}
	}
}

// keptValue advises how to keep a value in the JSON while its name in code changes, or is deprecated.
func keptValue(v *catalog.EnumValue, now *catalog.Type) string {
	if now.Integer {
		return fmt.Sprintf("keep its number %d, under another name or deprecated", v.Number)
	}
	return "keep it as it is stored, with another go_name or deprecated"
}

func valueNamed(t *catalog.Type, name string) *catalog.EnumValue {
	if i := slices.IndexFunc(t.Values, func(v *catalog.EnumValue) bool { return v.Name.V == name }); i >= 0 {
		return t.Values[i]
	}
	return nil
}

// holds reports whether an enum has a value with the JSON of a value of another enum.
func holds(t, other *catalog.Type, value *catalog.EnumValue) bool {
	return slices.ContainsFunc(t.Values, func(v *catalog.EnumValue) bool { return string(v.JSON(t)) == string(value.JSON(other)) })
}
