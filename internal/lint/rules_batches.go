package lint

import (
	"fmt"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

// Only a declared subscription that sets batches itself surely has them. Others may inherit the
// setting, and handle one event at a time.

var batchBeyondExpiry = Rule{
	Rule: rules.BatchBeyondExpiry,
	Bad: `
events:
  ui.clicked: { expires_after: 10s, subscriptions: { count-clicks: { batch: { size: 1000, wait: 1m } } } }`,
	Good: `
events:
  ui.clicked: { expires_after: 10s, subscriptions: { count-clicks: { batch: { size: 1000, wait: 1s } } } }`,
	check: func(p *pass) {
		p.eachBatch(func(s catalog.Settings) *flaw {
			if s.ExpiresAfter.V == 0 || s.Batch.Wait.V < s.ExpiresAfter.V || s.Batch.Size.V == 1 {
				return nil
			}
			return &flaw{
				at: s.Batch.Wait.Pos, also: s.ExpiresAfter.Pos, alsoWhat: "expires_after is here",
				what: fmt.Sprintf("%%s waits %s for a batch to fill, and its events expire after %s",
					catalog.Short(s.Batch.Wait.V), catalog.Short(s.ExpiresAfter.V)),
				hint: "wait for a shorter time, or let the events live longer",
			}
		})
	},
}

var batchOneAttempt = Rule{
	Rule: rules.BatchOneAttempt,
	Bad: `
events:
  order.placed: { subscriptions: { export-order: { batch: { size: 25 }, retry: { max_attempts: 1 } } } }`,
	Good: `
events:
  order.placed: { subscriptions: { export-order: { batch: { size: 25 }, retry: { max_attempts: 2 } } } }`,
	check: func(p *pass) {
		p.eachBatch(func(s catalog.Settings) *flaw {
			if s.MaxAttempts.V > 1 || s.Batch.Size.V == 1 {
				return nil
			}
			return &flaw{
				at: s.MaxAttempts.Pos, what: "%s has batches and one attempt, so an event that fails its batch makes dead letters of the others",
				hint: "allow a second attempt: the last one is a batch of one event",
			}
		})
	},
}

// eachBatch checks the settings of the declared subscriptions that set batches themselves.
func (p *pass) eachBatch(judge func(catalog.Settings) *flaw) {
	p.eachOwner(func(e *catalog.Event, declared *catalog.Subscription, s catalog.Settings) *flaw {
		if declared == nil || s.Batch.Size.Pos == e.Settings.Batch.Size.Pos && s.Batch.Wait.Pos == e.Settings.Batch.Wait.Pos {
			return nil
		}
		return judge(s)
	})
}
