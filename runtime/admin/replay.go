package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Replay says which events to give to a subscription again.
type Replay struct {
	Subscription string      // which must exist
	Events       []uuid.UUID // those to which the filter applies as well; all for none
	Filter       Filter      // without a status
	Limit        int         // at most this many, the oldest; 0 for no limit
	Rate         float64     // at most this many per second; 0 for no limit
	DryRun       bool        // change nothing, and count only
	// Progress is called after every step with what was done until then, by the
	// goroutine that waits for it. Nil for nobody.
	Progress func(Replayed)
}

// String says which events, in the words of the audit: "type order.*, since …", or
// "all".
func (r Replay) String() string {
	var given string
	switch n := len(r.Events); n {
	case 0:
		return r.Filter.String()
	case 1:
		given = "event " + r.Events[0].String()
	default:
		given = fmt.Sprintf("one of %d given events", n)
	}
	if r.Filter.String() == (Filter{}).String() {
		return given
	}
	return given + ", " + r.Filter.String()
}

// Replayed says what became of a [Replay].
type Replayed struct {
	Matched int `json:"matched"` // were handled when it began
	Moved   int `json:"moved"`   // are to be handled again
}

const (
	replayStep  = 100
	replayPause = 10 * time.Millisecond // lets publishers in between
)

// Replay gives events that one subscription has handled to it again, in the order
// of the log, each with a fresh count of attempts. Other subscriptions see
// nothing of it. What it has not handled yet, has as a dead letter or has
// discarded is left alone, and so are events from before it began.
//
// Events are replayed in small transactions: when ctx ends or the process dies,
// each was replayed or not; replaying once more would repeat those that were. The
// counts are right with any error. A subscription that the file does not know is a
// *[NotFoundError].
func (f *File) Replay(ctx context.Context, r Replay) (Replayed, error) {
	var counts Replayed
	query, err := r.Filter.query(Page{})
	switch {
	case err != nil:
		return counts, fmt.Errorf("replay events: %w", err)
	case r.Filter.Status != "":
		return counts, errors.New("replay events: only those that were handled are replayed; leave the status out")
	case r.Limit < 0 || !(r.Rate >= 0):
		return counts, fmt.Errorf("replay events: limit %d and rate %v must not be negative", r.Limit, r.Rate)
	}
	var steps *sqlite.Replay
	err = f.use(func(a *sqlite.Admin) error {
		if err := known(ctx, a, r.Subscription); err != nil {
			return err
		}
		var err error
		steps, _, err = a.Replay(ctx, sqlite.ReplayFilter{Subscription: r.Subscription, Events: r.Events, EventFilter: query},
			sqlite.AuditEntry{Actor: f.actor, Detail: r.String()})
		return err
	})
	if err != nil {
		return counts, err
	}
	counts.Matched = steps.Matched
	if r.DryRun {
		return counts, nil
	}
	wanted := counts.Matched
	if r.Limit > 0 {
		wanted = min(wanted, r.Limit)
	}
	step, pause := replayStep, replayPause
	if r.Rate > 0 {
		step = int(min(max(r.Rate/10, 1), replayStep))
		pause = time.Duration(min(float64(step)/r.Rate, 24*3600) * float64(time.Second))
	}
	for counts.Moved < wanted {
		var moved int
		err := f.use(func(a *sqlite.Admin) (err error) {
			moved, err = a.ReplayStep(ctx, steps, min(step, wanted-counts.Moved))
			return err
		})
		if err != nil || moved == 0 {
			return counts, err
		}
		counts.Moved += moved
		if r.Progress != nil {
			r.Progress(counts)
		}
		if counts.Moved < wanted {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return counts, ctx.Err()
			}
		}
	}
	return counts, nil
}
