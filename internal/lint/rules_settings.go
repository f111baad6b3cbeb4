package lint

import (
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/retry"
)

var slowAfterUnreached = Rule{
	Rule: rules.SlowAfterUnreached,
	Bad: `
defaults: { timeout: 5s, slow_after: 10s }
events:
  order.placed: {}`,
	Good: `
defaults: { timeout: 5s, slow_after: 2s }
events:
  order.placed: {}
  order.paid: { slow_after: off }`,
	check: func(p *pass) {
		p.eachSettings(func(s catalog.Settings) *flaw {
			if !s.SlowAfter.Written() || s.SlowAfter.V == 0 || s.Timeout.V == 0 || s.SlowAfter.V < s.Timeout.V {
				return nil
			}
			return &flaw{
				at: s.SlowAfter.Pos, also: s.Timeout.Pos, alsoWhat: "the timeout is here",
				what: fmt.Sprintf("slow_after %s of %%s is never reached: the timeout is %s", catalog.Short(s.SlowAfter.V), catalog.Short(s.Timeout.V)),
				hint: "make it shorter than the timeout, or write slow_after: off",
			}
		})
	},
}

var slowEventUnreached = Rule{
	Rule: rules.SlowEventUnreached,
	Bad: `
defaults: { expires_after: 10m, slow_event_after: 15m }
events:
  order.placed: {}`,
	Good: `
defaults: { expires_after: 10m, slow_event_after: 2m }
events:
  order.placed: {}
  order.paid: { slow_event_after: off }`,
	check: func(p *pass) {
		p.eachSettings(func(s catalog.Settings) *flaw {
			after := s.SlowEventAfter
			if !after.Written() || after.V == 0 || s.ExpiresAfter.V == 0 || after.V < s.ExpiresAfter.V {
				return nil
			}
			return &flaw{
				at: after.Pos, also: s.ExpiresAfter.Pos, alsoWhat: "expires_after is here",
				what: fmt.Sprintf("slow_event_after %s of %%s is never reached: the event expires after %s", catalog.Short(after.V), catalog.Short(s.ExpiresAfter.V)),
				hint: "make it shorter than expires_after, or write slow_event_after: off",
			}
		})
	},
}

var allCritical = Rule{
	Rule: rules.AllCritical,
	Bad: `
defaults: { priority: critical }
events:
  a.done: {}
  a.made: {}
  a.sent: {}`,
	Good: `
defaults: { priority: critical }
events:
  a.done: {}
  a.made: {}
  a.sent: { priority: normal }`,
	check: func(p *pass) {
		const several = 3 // one or two events may be all there is to say
		var first *catalog.Event
		count := 0
		for _, e := range p.Events {
			if p.excepted(e.Label()) {
				continue
			}
			if e.Settings.Priority.V != catalog.Critical {
				return
			}
			if count++; first == nil {
				first = e
			}
		}
		if count >= several {
			p.report(first.Label(), first.Settings.Priority.Pos, "keep critical for events that must overtake others, and whose failure somebody has to hear of", "all %d events are critical", count)
		}
	},
}

var timeoutBeyondExpiry = Rule{
	Rule: rules.TimeoutBeyondExpiry,
	Bad: `
defaults: { timeout: 1m, expires_after: 30s }
events:
  order.placed: {}`,
	Good: `
defaults: { timeout: 10s, expires_after: 1m }
events:
  order.placed: {}`,
	check: func(p *pass) {
		p.eachSettings(func(s catalog.Settings) *flaw {
			if s.ExpiresAfter.V == 0 || s.Timeout.V < s.ExpiresAfter.V || s.MaxAttempts.V == 1 {
				return nil
			}
			return &flaw{
				at: s.ExpiresAfter.Pos, also: s.Timeout.Pos, alsoWhat: "the timeout is here",
				what: fmt.Sprintf("expires_after %s of %%s is over when the first attempt times out, after %s", catalog.Short(s.ExpiresAfter.V), catalog.Short(s.Timeout.V)),
				hint: "lower the timeout, or let the event live longer",
			}
		})
	},
}

var attemptsBeyondExpiry = Rule{
	Rule: rules.AttemptsBeyondExpiry,
	Bad: `
defaults: { expires_after: 10s, timeout: 2s, retry: { max_attempts: 8 } }
events:
  order.placed: {}`,
	Good: `
defaults: { expires_after: 5m, timeout: 2s, retry: { max_attempts: 8 } }
events:
  order.placed: {}`,
	check: func(p *pass) {
		p.eachSettings(func(s catalog.Settings) *flaw {
			late := lateAttempt(s)
			if late == 0 {
				return nil
			}
			return &flaw{
				at: s.ExpiresAfter.Pos, also: s.MaxAttempts.Pos, alsoWhat: "max_attempts is here",
				what: fmt.Sprintf("expires_after %s of %%s comes before attempt %d of %d", catalog.Short(s.ExpiresAfter.V), late, s.MaxAttempts.V),
				hint: "let the event live longer, or lower max_attempts or the delays",
			}
		})
	},
}

// lateAttempt returns the number of the first attempt after the expiry, if the attempts before take no
// time, or 0 if there is none.
func lateAttempt(s catalog.Settings) int {
	if s.ExpiresAfter.V == 0 {
		return 0
	}
	var waited time.Duration
	for n := 2; n <= s.MaxAttempts.V; n++ {
		if waited += s.Policy().Delay(n); waited >= s.ExpiresAfter.V {
			return n
		}
	}
	return 0
}

var neverRetried = Rule{
	Rule: rules.NeverRetried,
	Bad: `
defaults: { retry: { max_attempts: 1 } }
events:
  order.placed: {}`,
	Good: `
defaults: { retry: { max_attempts: 1 }, redrive: { every: 10m } }
events:
  order.placed: {}
  order.paid: { redrive: off, retry: { max_attempts: 2, backoff: none } }`,
	check: func(p *pass) {
		p.eachSettings(func(s catalog.Settings) *flaw {
			if s.MaxAttempts.V > 1 || !s.Redrive.Off.V {
				return nil
			}
			return &flaw{
				at: s.MaxAttempts.Pos, what: "%s is tried once and never again",
				hint: "allow a second attempt, or add a redrive",
			}
		})
	},
}

var noJitter = Rule{
	Rule: rules.NoJitter,
	Bad: `
defaults: { retry: { jitter: 0 } }
events:
  order.placed: {}`,
	Good: `
defaults: { retry: { jitter: 0.1 } }
events:
  order.placed: {}
  order.paid: { retry: { jitter: 0, backoff: none } }`,
	check: func(p *pass) {
		p.eachSettings(func(s catalog.Settings) *flaw {
			if s.Jitter.V > 0 || s.MaxAttempts.V == 1 || s.Backoff.V == retry.None {
				return nil
			}
			return &flaw{at: s.Jitter.Pos, what: "%s is retried without jitter", hint: "set jitter, for example to 0.1"}
		})
	},
}

var strictWithoutKey = Rule{
	Rule: rules.StrictWithoutKey,
	Bad: `
events:
  order.placed: { strict_order: true }`,
	Good: `
events:
  order.placed: { strict_order: true, partition_by: order_id, payload: { order_id: uuid } }
  order.paid: { strict_order: false }`,
	check: func(p *pass) {
		p.eachOwner(func(e *catalog.Event, _ *catalog.Subscription, s catalog.Settings) *flaw {
			if !s.StrictOrder.V || e.PartitionBy != nil {
				return nil
			}
			return &flaw{
				at: s.StrictOrder.Pos, what: "%s has a strict order and no partition key, so an event that fails holds back all later ones",
				hint: "add partition_by, or remove strict_order",
			}
		})
	},
}

// A flaw is a problem in the settings of one event or subscription.
type flaw struct {
	at       diag.Position // of the setting to change
	also     diag.Position // of the setting that conflicts with it, if it is written
	alsoWhat string
	what     string // with %s for the events and subscriptions that have the settings
	hint     string
}

// eachSettings checks the settings of every event and subscription. Settings are inherited: a flaw that
// comes from the same lines is reported once, for all events and subscriptions that have it.
func (p *pass) eachSettings(judge func(catalog.Settings) *flaw) {
	p.eachOwner(func(_ *catalog.Event, _ *catalog.Subscription, s catalog.Settings) *flaw { return judge(s) })
}

// eachOwner does so with the event and the subscription, which is nil for the event itself.
func (p *pass) eachOwner(judge func(*catalog.Event, *catalog.Subscription, catalog.Settings) *flaw) {
	type origin struct{ at, also diag.Position }
	type group struct {
		flaw           *flaw
		subject, first string
		others         int
	}
	var order []origin
	groups := map[origin]*group{}
	add := func(subject, who string, f *flaw) {
		if f == nil || p.excepted(subject) {
			return
		}
		from := origin{f.at, f.also}
		if g := groups[from]; g != nil {
			g.others++
			return
		}
		groups[from] = &group{flaw: f, subject: subject, first: who}
		order = append(order, from)
	}
	for _, e := range p.Events {
		add(e.Label(), "event "+e.Label(), judge(e, nil, e.Settings))
		for _, s := range e.Declared() {
			add(e.Label(), "subscription "+s.Name.V+" of event "+e.Label(), judge(e, s, s.Settings))
		}
	}
	for _, from := range order {
		g := groups[from]
		who := g.first
		if g.others > 0 {
			who += fmt.Sprintf(" (and %d more)", g.others)
		}
		f := p.report(g.subject, g.flaw.at, g.flaw.hint, g.flaw.what, who)
		p.see(f, g.flaw.also, "%s", g.flaw.alsoWhat)
	}
}
