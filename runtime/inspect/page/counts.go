package page

import (
	"context"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// causes are the dead letters by their cause, as they were counted at a time.
type causes struct {
	at     time.Time
	groups []event.FailureGroup
	trends map[string]trend
}

// causes returns the dead letters by their cause: as they are now, or as they were a moment
// ago if counting takes long.
func (q *request) causes() (causes, error) {
	return q.page.counts.get(q, func(ctx context.Context, file *inspect.File, now time.Time) (found causes, err error) {
		found.at = now
		if found.groups, err = file.FailureGroups(ctx, event.Filter{}); err == nil {
			found.trends, err = trends(ctx, file, found.groups, now)
		}
		return found, err
	})
}

// kept keeps what was counted last. Counting a hundred thousand dead letters takes half a
// second, so a page does not wait for it when it can show what was counted shortly before.
type kept[T any] struct {
	mu       sync.Mutex
	last     *counted[T]
	counting chan struct{} // closed when the count that is being made has ended; nil for none
	err      error         // of the last count
}

// counted is what was counted at a time.
type counted[T any] struct {
	at   time.Time
	took time.Duration
	what T
}

const (
	// share is which part of the time is spent on counting at most, while somebody looks.
	share = 20
	// mostWaited is how long a page waits for a new count when it has an old one.
	mostWaited = 40 * time.Millisecond
	// mostOld is how old a count is that is shown.
	mostOld = time.Minute
)

// get counts, or returns what was counted a moment ago if that takes long.
func (k *kept[T]) get(q *request, count func(context.Context, *inspect.File, time.Time) (T, error)) (none T, err error) {
	k.mu.Lock()
	last := k.last
	if last != nil && q.now.Sub(last.at) < share*last.took {
		k.mu.Unlock()
		return last.what, nil
	}
	if k.counting == nil {
		k.counting = make(chan struct{})
		go k.count(q.page, q.now, count)
	}
	done := k.counting
	k.mu.Unlock()
	if last != nil && q.now.Sub(last.at) < mostOld {
		timer := time.NewTimer(mostWaited)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			return last.what, nil
		}
	}
	select {
	case <-done:
	case <-q.Context().Done():
		return none, q.Context().Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return none, k.err
	}
	return k.last.what, nil
}

// count makes a new count, for all who wait for it.
func (k *kept[T]) count(p *Page, now time.Time, count func(context.Context, *inspect.File, time.Time) (T, error)) {
	began := time.Now()
	found := &counted[T]{at: now}
	file, err := p.files.take(p.closing)
	if err == nil {
		found.what, err = count(p.closing, file, now)
		p.files.give(file)
	}
	found.took = time.Since(began)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err = err; err == nil {
		k.last = found
	}
	close(k.counting)
	k.counting = nil
}
