package looks

import (
	"context"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/inspect"
)

// Kept keeps what was counted last. Counting a hundred thousand dead letters takes half a
// second, so a page does not wait for it when it can show what was counted shortly before.
type Kept[T any] struct {
	mu       sync.Mutex
	last     *counted[T]
	counting chan struct{} // closed when the count that is being made has ended; nil for none
	err      error         // of the last count
}

// count counts by a file, at a time.
type count[T any] func(ctx context.Context, file *inspect.File, now time.Time) (T, error)

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

// Get counts, or returns what was counted a moment ago if that takes long.
func (k *Kept[T]) Get(ctx context.Context, files *Files, now time.Time, count count[T]) (none T, err error) {
	k.mu.Lock()
	last := k.last
	if last != nil && now.Sub(last.at) < share*last.took {
		k.mu.Unlock()
		return last.what, nil
	}
	if k.counting == nil {
		k.counting = make(chan struct{})
		go k.count(files, now, count)
	}
	done := k.counting
	k.mu.Unlock()
	if last != nil && now.Sub(last.at) < mostOld {
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
	case <-ctx.Done():
		return none, ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return none, k.err
	}
	return k.last.what, nil
}

// count makes a new count, for all who wait for it.
func (k *Kept[T]) count(files *Files, now time.Time, count count[T]) {
	began := time.Now()
	found := &counted[T]{at: now}
	file, err := files.Take(files.ctx)
	if err == nil {
		found.what, err = count(files.ctx, file, now)
		files.Give(file)
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
