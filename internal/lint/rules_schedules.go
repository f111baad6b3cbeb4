package lint

import "github.com/busgen/busgen/internal/diag/rules"

var scheduleUnhandled = Rule{
	Rule: rules.ScheduleUnhandled,
	Bad: `
events:
  report.requested: {}
schedules:
  nightly-report: { event: report.requested, cron: "0 3 * * *" }`,
	Good: `
events:
  report.requested: { subscriptions: { write-report: {} } }
schedules:
  nightly-report: { event: report.requested, cron: "0 3 * * *" }`,
	check: func(p *pass) {
		for _, s := range p.Schedules {
			if len(s.Event.Declared()) > 0 {
				continue
			}
			f := p.report(s.Event.Label(), s.Name.Pos, "declare the subscription that handles it under event "+s.Event.Label(),
				"schedule %s publishes event %s, for which no subscription is declared", s.Name.V, s.Event.Label())
			p.see(f, s.Event.Name.Pos, "event %s is here", s.Event.Label())
		}
	},
}
