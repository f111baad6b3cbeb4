package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// deadLetters measures how long it takes to list the newest and the oldest page
// of n dead letters, in turns with reading the rows of the newest.
func deadLetters(n int) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		path := s.file()
		if err := makeDead(ctx, path, n); err != nil {
			return result{}, err
		}
		inspector, err := inspect.Open(ctx, path)
		if err != nil {
			return result{}, err
		}
		s.closing = append(s.closing, inspector.Close)
		bare, err := sqlite3.Open(path)
		if err != nil {
			return result{}, err
		}
		s.closing = append(s.closing, bare.Close)

		list := func(offset int) side {
			return pages(func() (int, error) {
				letters, _, err := inspector.DeadLetters(ctx, event.Filter{}, event.Page{Offset: offset})
				return len(letters), err
			})
		}
		rounds, err := takeTurns(ctx, s.total, 25*time.Millisecond,
			list(0), list(n-event.DefaultLimit), pages(func() (int, error) { return readDead(bare) }))
		first, last := compare(rounds, 0, 2), compare(rounds, 1, 2)
		r := first.result()
		r.FirstPage, r.LastPage = pageTime(first), pageTime(last)
		return r, err
	}
}

// pages is the side that reads one page after the other.
func pages(read func() (int, error)) side {
	return func(d time.Duration) (total int, err error) {
		for until := time.Now().Add(d); time.Now().Before(until); total += event.DefaultLimit {
			n, err := read()
			if err == nil && n != event.DefaultLimit {
				err = fmt.Errorf("a page has %d dead letters, want %d", n, event.DefaultLimit)
			}
			if err != nil {
				return total, err
			}
		}
		return total, nil
	}
}

// pageTime returns the milliseconds that a page took.
func pageTime(c comparison) float64 { return 1e3 * event.DefaultLimit / c.ours.perSecond() }

// makeDead makes a file with n dead letters.
func makeDead(ctx context.Context, path string, n int) (err error) {
	b, err := openBus(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Shutdown(context.WithoutCancel(ctx))) }()
	err = b.handle(subscriptionName(0), func() error { return errors.New("the card was declined") },
		runtime.WithRetry(retry.MaxAttempts(1)), runtime.WithBreaker(breaker.Off()))
	if err != nil {
		return err
	}
	if _, err := b.publishMany(ctx, n, 0); err != nil {
		return err
	}
	if err := b.Start(ctx); err != nil {
		return err
	}
	return b.WaitIdle(ctx)
}

// readDead reads what a page of dead letters is made of, as a bare loop.
func readDead(conn *sqlite3.Conn) (rows int, err error) {
	s, _, err := conn.Prepare(`
		SELECT l.id, l.payload, a.error FROM busgen_deliveries d
		JOIN busgen_log l ON l.seq = d.seq
		JOIN busgen_attempts a ON a.seq = d.seq AND a.subscription = d.subscription
		WHERE d.state = 'dead'
		ORDER BY d.dead_at DESC, d.subscription DESC, d.seq DESC LIMIT 100`)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for ; s.Step(); rows++ {
		s.ColumnRawBlob(0)
		s.ColumnRawText(1)
		s.ColumnRawText(2)
	}
	return rows, s.Err()
}

// purgeSlice is how many dead letters are purged in one slice.
const purgeSlice = 250

// purge measures one publisher beside an operator who purges half of n dead
// letters, in turns with publishing alone for as long.
func purge(n int) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		path := s.file()
		if err := makeDead(ctx, path, n); err != nil {
			return result{}, err
		}
		inspector, err := inspect.Open(ctx, path)
		if err != nil {
			return result{}, err
		}
		s.closing = append(s.closing, inspector.Close)
		b, err := s.open(ctx, path)
		if err != nil {
			return result{}, err
		}
		publish := func(d time.Duration) (int, error) { return publishers(1).run(ctx, b, d) }

		var rounds []round
		for range n / 2 / purgeSlice {
			beside, err := work(func(time.Duration) (int, error) { return publishBesidePurge(ctx, publish, inspector) }, 0)
			if err != nil {
				return result{}, err
			}
			alone, err := work(publish, beside.took)
			if err != nil {
				return result{}, err
			}
			rounds = append(rounds, round{beside, alone})
		}
		return compare(rounds, 0, 1).result(), nil
	}
}

// publishBesidePurge publishes until a slice is purged.
func publishBesidePurge(ctx context.Context, publish side, inspector *inspect.File) (published int, err error) {
	done := make(chan error, 1)
	go func() {
		counts, err := inspector.Purge(ctx, inspect.Selection{Filter: event.Filter{Until: time.Now()}, Limit: purgeSlice})
		if err == nil && counts.Moved != purgeSlice {
			err = fmt.Errorf("%d dead letters were purged, want %d", counts.Moved, purgeSlice)
		}
		done <- err
	}()
	for {
		n, err := publish(time.Millisecond)
		published += n
		if err != nil {
			return published, err
		}
		select {
		case err := <-done:
			return published, err
		default:
		}
	}
}
