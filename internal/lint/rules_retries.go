package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/retry"
)

// The ranges of the first wait and of the longest wait that suit most failures.
const (
	leastFirstWait, mostFirstWait     = 100 * time.Millisecond, 5 * time.Second
	leastLongestWait, mostLongestWait = 10 * time.Second, 10 * time.Minute
)

var retryDelays = Rule{
	Rule: rules.RetryDelays,
	Bad: `
defaults: { retry: { base_delay: 10ms, max_delay: 1h, max_attempts: 20 } }
events:
  order.placed: {}`,
	Good: `
defaults: { retry: { base_delay: 500ms, max_delay: 5m, max_attempts: 10 } }
events:
  order.placed: {}
  order.paid: { retry: { backoff: linear, base_delay: 10s } }
  order.sent: { retry: { backoff: none } }
  order.lost: { retry: { max_delay: 5s, max_attempts: 4 } }`,
	check: func(p *pass) {
		p.eachSettings(firstWait)
		p.eachSettings(longestWait)
	},
}

func firstWait(s catalog.Settings) *flaw {
	base := s.BaseDelay.V
	switch {
	case s.MaxAttempts.V == 1 || s.Backoff.V == retry.None:
	case base < leastFirstWait:
		return &flaw{
			at:   s.BaseDelay.Pos,
			what: "%s is tried again after " + catalog.Short(base) + ": what failed has had no time to recover",
			hint: "begin with 100ms or more, or write backoff: none if it is to be tried again at once",
		}
	case base > mostFirstWait && s.Backoff.V == retry.Exponential:
		return &flaw{
			at:   s.BaseDelay.Pos,
			what: "%s waits " + catalog.Short(base) + " before the second attempt, and most failures are over sooner",
			hint: "begin with 5s or less; the waits grow by themselves",
		}
	}
	return nil
}

func longestWait(s catalog.Settings) *flaw {
	last := s.Policy().Delay(s.MaxAttempts.V)
	switch {
	case s.MaxAttempts.V == 1 || s.Backoff.V == retry.None:
	case last > mostLongestWait:
		return &flaw{
			at:   s.MaxDelay.Pos,
			what: "%s waits up to " + catalog.Short(last) + " between two attempts, and nobody sees a failure for so long",
			hint: "lower max_delay to 10m; redrive tries dead letters again after hours",
		}
	case s.MaxDelay.V < leastLongestWait && capped(s) > 1:
		return &flaw{
			at:   s.MaxDelay.Pos,
			what: fmt.Sprintf("%%s has %d waits cut to %s: a service that is down gets no rest", capped(s), catalog.Short(s.MaxDelay.V)),
			hint: "raise max_delay to 10s or more",
		}
	}
	return nil
}

// capped counts the waits that max_delay shortens.
func capped(s catalog.Settings) int {
	policy, n := s.Policy(), 0
	free := policy.With(retry.MaxDelay(retry.LimitDelay))
	for attempt := 2; attempt <= s.MaxAttempts.V; attempt++ {
		if policy.Delay(attempt) < free.Delay(attempt) {
			n++
		}
	}
	return n
}

// manyEvents is the number of event types, in manyNamespaces or more, from which on one retry policy is
// too few.
const manyEvents, manyNamespaces = 12, 3

var oneBudget = Rule{
	Rule: rules.OneBudget,
	Bad: `
defaults: { retry: { max_attempts: 10 } }
events:
  a.done: {}
  a.made: {}
  a.sent: {}
  a.lost: {}
  b.done: {}
  b.made: {}
  b.sent: {}
  b.lost: {}
  c.done: {}
  c.made: {}
  c.sent: {}
  c.lost: {}`,
	Good: `
defaults: { retry: { max_attempts: 10 } }
policies:
  c.*: { retry: { max_attempts: 2, backoff: none } }
events:
  a.done: {}
  a.made: {}
  a.sent: {}
  a.lost: {}
  b.done: {}
  b.made: {}
  b.sent: {}
  b.lost: {}
  c.done: {}
  c.made: {}
  c.sent: {}
  c.lost: {}`,
	check: func(p *pass) {
		var events []*catalog.Event
		budgets, tops := map[retry.Policy]bool{}, map[string]bool{}
		for _, e := range p.Events {
			if p.excepted(e.Label()) {
				continue
			}
			events = append(events, e)
			top, _, _ := strings.Cut(e.Label(), ".")
			tops[top] = true
			budgets[e.Settings.Policy()] = true
			for _, s := range e.Declared() {
				budgets[s.Settings.Policy()] = true
			}
		}
		if len(events) < manyEvents || len(tops) < manyNamespaces || len(budgets) > 1 || len(p.ErrorClasses) > 0 {
			return
		}
		first := events[0]
		at := first.Settings.MaxAttempts.Pos
		if !at.IsKnown() {
			at = first.Name.Pos
		}
		p.report(first.Label(), at, "add policies: fewer attempts where a person waits, more where work is expensive",
			"all %d event types have one retry budget: %d attempts", len(events), first.Settings.MaxAttempts.V)
	},
}
