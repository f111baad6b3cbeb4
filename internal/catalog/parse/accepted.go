package parse

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// accepted reads `accepted:`. Whether there is a finding of a key shows when two states of the
// catalogue are compared.
func (r *Settings) accepted(root object) []*catalog.Accepted {
	section, ok := root.entries["accepted"]
	if !ok {
		return nil
	}
	entries, _ := r.mapping(section.value, "accepted")
	var all []*catalog.Accepted
	for _, e := range entries {
		rule, about, _ := strings.Cut(e.name, " ")
		switch {
		case !slices.Contains(rules.Changes(), rule):
			f := r.report(r.place(e.key), rules.Accepted, "accepted has the key %s, but there is no rule %s", diag.Label(e.name), diag.Label(rule))
			if f.Hint = diag.DidYouMean(rule, rules.Changes()); f.Hint == "" {
				f.Hint = keyHint
			}
			continue
		case strings.TrimSpace(about) == "":
			r.report(r.place(e.key), rules.Accepted, "accepted has the key %s, which names a rule but no finding", diag.Label(e.name)).Hint = keyHint
			continue
		}
		a := &catalog.Accepted{Key: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}}
		a.Reason = r.sentence(object{what: "accepted", entries: map[string]entry{e.name: e}}, e.name)
		all = append(all, a)
	}
	return all
}

const keyHint = `copy the key of a finding of "busgen breaking", such as field-added order.placed 1 email`
