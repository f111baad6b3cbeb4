package catalog

import (
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// className is the alphabet of error classes: it must make a Go constant.
var className = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// permanent is the word for errors after which another attempt is in vain.
const permanent = "permanent"

// errorRules reads `errors:`, in file order.
func (r *reader) errorRules(settings object) []*ErrorRule {
	e, ok := settings.entries["errors"]
	if !ok {
		return nil
	}
	entries, _ := r.mapping(e.value, "errors of "+settings.what)
	var all []*ErrorRule
	for _, e := range entries {
		what := "error class " + label(e.name) + " of " + settings.what
		rule := r.errorRule(e, what)
		if !className.MatchString(e.name) {
			r.report(r.place(e.key), rules.BadName, "%s is not a name for one", what).
				Hint = "begin with a lower-case letter and go on with lower-case letters, digits and single _ between them, as in card_declined"
			continue
		}
		r.declareClass(rule)
		all = append(all, rule)
	}
	return all
}

func (r *reader) errorRule(e entry, what string) *ErrorRule {
	rule := &ErrorRule{Class: Value[string]{V: e.name, Pos: r.position(e.key)}, GoName: "Error" + r.goName(e.name)}
	rule.Permanent = Value[bool]{Pos: r.position(e.value)}
	n := e.value
	switch {
	case n.Kind == yaml.MappingNode:
		o, _ := r.object(n, what, "retry")
		if retry, ok := r.required(o, "retry", "write permanent, or retry with what is different for these errors"); ok {
			rule.Retry = r.retry(retry, "retry of "+what)
		}
	case n.ShortTag() == "!!str" && n.Value == permanent:
		rule.Permanent.V = true
	case n.ShortTag() == "!!str":
		f := r.report(r.place(n), rules.UnknownValue, "%s is %q", what, n.Value)
		if f.Hint = diag.DidYouMean(n.Value, []string{permanent}); f.Hint == "" {
			f.Hint = "it is permanent or a mapping with retry"
		}
	default:
		r.wrongKind(n, what, "permanent or a mapping")
	}
	return rule
}

// declareClass remembers where a class was named first.
func (r *reader) declareClass(rule *ErrorRule) {
	i := slices.IndexFunc(r.classes, func(c *ErrorClass) bool { return c.Name.V == rule.Class.V })
	switch {
	case i < 0:
		r.classes = append(r.classes, &ErrorClass{Name: rule.Class, GoName: rule.GoName})
	case r.compare(rule.Class.Pos, r.classes[i].Name.Pos) < 0:
		r.classes[i].Name.Pos = rule.Class.Pos
	}
}

// errorClasses returns all classes in the order in which they are named.
func (r *reader) errorClasses() []*ErrorClass {
	slices.SortFunc(r.classes, func(a, b *ErrorClass) int { return r.compare(a.Name.Pos, b.Name.Pos) })
	return r.classes
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
			merged.Retry = before.Retry.overlay(rule.Retry)
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
