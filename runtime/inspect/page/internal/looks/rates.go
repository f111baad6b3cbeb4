package looks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// Rates measures how fast subscriptions work between two looks of this page: what was handled leaves no other trace.
type Rates struct {
	mu            sync.Mutex
	before, since event.Status // two looks, since the later one; zero for none
}

const (
	// leastMeasured is how far apart the looks are that are kept, and mostMeasured how old one is that
	// rates are measured from.
	leastMeasured, mostMeasured = 15 * time.Second, 2 * time.Minute
)

// Status returns the status with the rates since an earlier look, if there was one lately.
func (r *Rates) Status(ctx context.Context, file *inspect.File, at time.Time) (event.Status, error) {
	now, err := file.StatusSince(ctx, r.from(at))
	if err == nil {
		r.keep(now)
	}
	return now, err
}

// from returns the look from which rates are measured.
func (r *Rates) from(now time.Time) event.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range []event.Status{r.before, r.since} {
		if age := now.Sub(one.At); age < mostMeasured && age >= time.Second {
			return one
		}
	}
	return event.Status{}
}

func (r *Rates) keep(now event.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.At.Sub(r.since.At) >= leastMeasured {
		r.before, r.since = r.since, now
	}
}

// RateWords says how fast a subscription works; empty if that is not known.
func RateWords(status event.Status, s event.SubscriptionState) string {
	if status.Rates == nil || s.Rates == nil {
		return ""
	}
	perMinute := func(perSecond float64) string { return words.Rate(60 * perSecond) }
	text := fmt.Sprintf("%s handled, %s dead and %s published per minute, in the last %s",
		perMinute(s.Rates.Handled), perMinute(s.Rates.Dead),
		perMinute(s.Rates.Published), words.Span(time.Duration(status.Rates.Seconds*float64(time.Second))))
	switch drained := s.Rates.DrainedIn; {
	case s.BacklogAtMost == 0:
	case drained == nil:
		text += "; the backlog does not shrink"
	default:
		text += "; at this rate it is empty in " + words.Span(time.Duration(*drained*float64(time.Second)))
	}
	return text + "."
}
