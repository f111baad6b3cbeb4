package lint

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

var deprecatedSubscribed = Rule{
	Rule: rules.DeprecatedSubscribed,
	Bad: `
events:
  order.placed: { deprecated: use order.accepted, subscriptions: { send-receipt: {} } }`,
	Good: `
events:
  order.placed: { deprecated: use order.accepted }
  order.accepted: { subscriptions: { send-receipt: {} } }`,
	check: func(p *pass) {
		for _, e := range p.Events {
			if !e.Deprecated.Written() {
				continue
			}
			for _, s := range e.Subscriptions {
				f := p.report(e.Label(), s.Name.Pos, "move it to the event that is to be used instead",
					"subscription %s is for event %s, which is deprecated", s.Name.V, e.Label())
				p.see(f, e.Deprecated.Pos, "the reason is here")
			}
			for _, s := range e.Schedules {
				f := p.report(e.Label(), s.Name.Pos, "let it publish the event that is to be used instead",
					"schedule %s publishes event %s, which is deprecated", s.Name.V, e.Label())
				p.see(f, e.Deprecated.Pos, "the reason is here")
			}
		}
	},
}

var deprecatedType = Rule{
	Rule: rules.DeprecatedType,
	Bad: `
types:
  Price: { deprecated: use Money, fields: { cents: int64 } }
events:
  order.placed: { payload: { total: Price } }`,
	Good: `
types:
  Price: { deprecated: use Money, fields: { cents: int64 } }
events:
  order.placed: { payload: { total: { type: "Price?", deprecated: use sum } } }
  order.drafted: { deprecated: use order.placed, payload: { total: Price } }`,
	check: func(p *pass) {
		old := map[string]bool{}
		for _, e := range p.Events {
			old[e.Label()] = e.Deprecated.Written()
		}
		for _, t := range p.Types {
			old[t.Name.V] = t.Deprecated.Written()
		}
		p.eachField(func(owner, subject string, f *catalog.Field) {
			t := f.Type.Uses()
			if t == nil || !t.Deprecated.Written() || f.Deprecated.Written() || old[subject] {
				return
			}
			finding := p.report(subject, f.Name.Pos, "use another type, or deprecate the field too",
				"field %s of %s is of type %s, which is deprecated", f.Label(), owner, t.Name.V)
			p.see(finding, t.Deprecated.Pos, "the reason is here")
		})
	},
}
