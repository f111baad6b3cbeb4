package settings

import (
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// className matches error classes: a class must make a Go constant.
var className = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// errorRules reads `errors:`, in file order.
func (r *Settings) errorRules(settings text.Object) []*catalog.ErrorRule {
	e, ok := settings.Entries["errors"]
	if !ok {
		return nil
	}
	entries, _ := r.Mapping(e.Value, "errors of "+settings.What)
	var all []*catalog.ErrorRule
	for _, e := range entries {
		what := "error class " + diag.Label(e.Name) + " of " + settings.What
		rule := r.errorRule(e, what)
		if !className.MatchString(e.Name) {
			r.Report(r.Place(e.Key), rules.BadName, "%s does not have a valid name", what).
				Hint = "begin with a lower-case letter and go on with lower-case letters, digits and single _ between them, as in card_declined"
			continue
		}
		r.declareClass(rule)
		all = append(all, rule)
	}
	return all
}

func (r *Settings) errorRule(e text.Entry, what string) *catalog.ErrorRule {
	rule := &catalog.ErrorRule{Class: catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}, GoName: "Error" + r.names.GoName(e.Name)}
	rule.Permanent = catalog.Value[bool]{Pos: r.Position(e.Value)}
	n := e.Value
	switch {
	case n.Kind == yaml.MappingNode:
		o, _ := r.Object(n, what, "retry")
		if retry, ok := r.Required(o, "retry", "write permanent, or retry with what is different for these errors"); ok {
			rule.Retry = r.retry(retry, "retry of "+what)
		}
	case n.ShortTag() == "!!str" && n.Value == catalog.Permanent:
		rule.Permanent.V = true
	case n.ShortTag() == "!!str":
		f := r.Report(r.Place(n), rules.UnknownValue, "%s is %q, which is not allowed", what, n.Value)
		if f.Hint = diag.DidYouMean(n.Value, []string{catalog.Permanent}); f.Hint == "" {
			f.Hint = "write permanent, or a mapping with retry"
		}
	default:
		r.WrongKind(n, what, "permanent or a mapping")
	}
	return rule
}

// declareClass records a class with the first place that names it.
func (r *Settings) declareClass(rule *catalog.ErrorRule) {
	i := slices.IndexFunc(r.classes, func(c *catalog.ErrorClass) bool { return c.Name.V == rule.Class.V })
	switch {
	case i < 0:
		r.classes = append(r.classes, &catalog.ErrorClass{Name: rule.Class, GoName: rule.GoName})
	case r.Compare(rule.Class.Pos, r.classes[i].Name.Pos) < 0:
		r.classes[i].Name.Pos = rule.Class.Pos
	}
}

// ErrorClasses returns all classes in the order in which they are named.
func (r *Settings) ErrorClasses() []*catalog.ErrorClass {
	slices.SortFunc(r.classes, func(a, b *catalog.ErrorClass) int { return r.Compare(a.Name.Pos, b.Name.Pos) })
	return r.classes
}
