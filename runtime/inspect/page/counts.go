package page

import (
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/inspect"
)

// causes are the dead letters by their cause, as they were counted at a time.
type causes struct {
	at     time.Time
	took   time.Duration
	groups []inspect.FailureGroup
	trends map[string]trend
}

// counts keeps the last causes. Counting a hundred thousand dead letters takes half a
// second, so a page does not wait for it when it can show what was counted shortly before.
type counts struct {
	mu       sync.Mutex
	last     *causes
	counting chan struct{} // closed when the count that is being made has ended; nil for none
	err      error         // of the last count
}

const (
	// share is which part of the time is spent on counting at most, while somebody looks.
	share = 20
	// mostWaited is how long a page waits for a new count when it has an old one.
	mostWaited = 40 * time.Millisecond
	// mostOld is how old a count is that is shown.
	mostOld = time.Minute
)

// causes returns the dead letters by their cause: as they are now, or as they were a moment
// ago if counting takes long.
func (q *request) causes() (causes, error) {
	c := &q.page.counts
	c.mu.Lock()
	last := c.last
	if last != nil && q.now.Sub(last.at) < share*last.took {
		c.mu.Unlock()
		return *last, nil
	}
	if c.counting == nil {
		c.counting = make(chan struct{})
		go q.page.count(q.now)
	}
	done := c.counting
	c.mu.Unlock()
	if last != nil && q.now.Sub(last.at) < mostOld {
		timer := time.NewTimer(mostWaited)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			return *last, nil
		}
	}
	select {
	case <-done:
	case <-q.Context().Done():
		return causes{}, q.Context().Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return causes{}, c.err
	}
	return *c.last, nil
}

// count makes a new count, for all who wait for it.
func (p *Page) count(now time.Time) {
	began := time.Now()
	found := &causes{at: now}
	file, err := p.files.take(p.closing)
	if err == nil {
		if found.groups, err = file.FailureGroups(p.closing, inspect.Filter{}); err == nil {
			found.trends, err = trends(p.closing, file, found.groups, now)
		}
		p.files.give(file)
	}
	found.took = time.Since(began)
	c := &p.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = err; err == nil {
		c.last = found
	}
	close(c.counting)
	c.counting = nil
}
