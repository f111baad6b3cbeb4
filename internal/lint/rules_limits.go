package lint

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

var unusedLimit = Rule{
	Rule: rules.UnusedLimit,
	Bad: `
limits: { bank: { at_once: 3 } }
events:
  order.placed: {}`,
	Good: `
limits: { bank: { at_once: 3 }, mail: { rate: 100 per 1m } }
events:
  order.placed: { limits: [bank], subscriptions: { send-receipt: { limits: [mail] } } }`,
	check: func(p *pass) {
		used := map[*catalog.Limit]bool{}
		note := func(s catalog.Settings) {
			for _, use := range s.Limits.V {
				used[use.Limit] = true
			}
		}
		for _, e := range p.Events {
			note(e.Settings)
			for _, s := range e.Declared() {
				note(s.Settings)
			}
		}
		for _, l := range p.Limits {
			if !used[l] {
				p.report(l.Name, l.Pos, "add it to the limits of an event, a subscription, a policy or the defaults", "no settings name limit %s", l.Name)
			}
		}
	},
}
