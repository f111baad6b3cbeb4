package catalog

import (
	"reflect"
	"slices"
)

// With returns s with everything replaced that is written in over.
func (s Settings) With(over Settings) Settings {
	rules := overlayErrors(s.Errors, over.Errors)
	s = overlay(s, over)
	s.Errors = rules
	return s
}

// With returns r with everything replaced that is written in over.
func (r Retry) With(over Retry) Retry { return overlay(r, over) }

// With returns d with everything replaced that is written in over.
func (d Redrive) With(over Redrive) Redrive { return overlay(d, over) }

// overlay returns a struct of values with each replaced that is written in over, also by zero: a jitter of 0 is a choice.
func overlay[S any](s, over S) S {
	replace(reflect.ValueOf(&s).Elem(), reflect.ValueOf(&over).Elem())
	return s
}

func replace(dst, over reflect.Value) {
	for i := range dst.NumField() {
		field, isCell := over.Field(i).Addr().Interface().(cell)
		if !isCell {
			if dst.Field(i).Kind() == reflect.Struct {
				replace(dst.Field(i), over.Field(i))
			}
		} else if _, pos := field.parts(); pos.IsKnown() {
			dst.Field(i).Set(over.Field(i))
		}
	}
}

// overlayErrors puts the rules of a more specific place in front of those that
// are inherited. A class that both have is one rule, retried by the fields of
// both, unless the more specific one is permanent.
func overlayErrors(inherited, own []*ErrorRule) []*ErrorRule {
	if len(own) == 0 {
		return inherited
	}
	var rules []*ErrorRule
	for _, rule := range own {
		merged := *rule
		if before := ruleFor(inherited, rule.Class.V); before != nil && !rule.Permanent.V {
			merged.Retry = before.Retry.With(rule.Retry)
		}
		rules = append(rules, &merged)
	}
	for _, rule := range inherited {
		if ruleFor(own, rule.Class.V) == nil {
			rules = append(rules, rule)
		}
	}
	return rules
}

func ruleFor(rules []*ErrorRule, class string) *ErrorRule {
	if i := slices.IndexFunc(rules, func(rule *ErrorRule) bool { return rule.Class.V == class }); i >= 0 {
		return rules[i]
	}
	return nil
}
