package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

// These cases are about a program that keeps tables of its own in the file of the bus. Each
// transaction does what a small service does per request: it inserts a row, updates another,
// and publishes an event.

// accounts is how many rows the table has that is updated.
const accounts = 64

const (
	insertEntry   = "INSERT INTO entry (account, amount) VALUES (?, ?)"
	updateAccount = "UPDATE account SET balance = balance + ? WHERE id = ?"
	makeTables    = `
		CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
		CREATE TABLE entry (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, amount INTEGER NOT NULL);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 64)
		INSERT INTO account SELECT i, 0 FROM n`
)

// makeTables makes the tables of the program.
func (b *bus) makeTables(ctx context.Context) error {
	return runtime.Transact(ctx, b.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, makeTables)
		return err
	})
}

// book is one transaction.
func (b *bus) book(ctx context.Context, account int) error {
	return runtime.Transact(ctx, b.Bus, func(tx runtime.Tx) error {
		if _, err := tx.ExecContext(ctx, insertEntry, account, sample.Total); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, updateAccount, sample.Total, account); err != nil {
			return err
		}
		_, err := events.PublishOrderPlaced(ctx, tx, sample)
		return err
	})
}

// callers lets n goroutines do something, one time after the other, for that long, and returns
// how often they did it. Each has the number of an account.
func callers(n int, d time.Duration, do func(account int) error) (int, error) {
	counts, errs := make([]int, n), make([]error, n)
	until := time.Now().Add(d)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			count := 0
			for errs[i] == nil && time.Now().Before(until) {
				errs[i] = do(i%accounts + 1)
				count++
			}
			counts[i] = count
		})
	}
	running.Wait()
	total := 0
	for _, count := range counts {
		total += count
	}
	return total, errors.Join(errs...)
}

// transactions compares n callers of [runtime.Transact] with as many that have a transaction of
// database/sql each.
func transactions(n int, each time.Duration) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		bus, err := s.open(ctx, s.file())
		if err != nil {
			return result{}, err
		}
		if err := bus.makeTables(ctx); err != nil {
			return result{}, err
		}
		own, err := s.ownTx(ctx)
		if err != nil {
			return result{}, err
		}
		rounds, err := takeTurns(ctx, s.total, each,
			func(d time.Duration) (int, error) {
				return callers(n, d, func(account int) error { return bus.book(ctx, account) })
			},
			func(d time.Duration) (int, error) {
				return callers(n, d, func(account int) error { return own.book(ctx, account) })
			})
		return compare(rounds, 0, 1).result(), err
	}
}

// handlersAtOnce is how many transactional handlers run at once: those that wait for the
// same sync. One at a time would wait for a sync each.
const handlersAtOnce = 128

// handledInTx compares 128 publishers whose events are handled in transactions, with a row for
// each, with handlers that do nothing.
func handledInTx(ctx context.Context, s *setting) (result, error) {
	transactional, err := s.open(ctx, s.file())
	if err != nil {
		return result{}, err
	}
	if err := transactional.subscribeTx(ctx); err != nil {
		return result{}, err
	}
	l := publishers(128).handledBy(1)
	plain, err := s.bus(ctx, s.file(), l)
	if err != nil {
		return result{}, err
	}
	rounds, err := takeTurns(ctx, s.total, handledSlice,
		func(d time.Duration) (int, error) { return l.run(ctx, transactional, d) }, plain)
	return compare(rounds, 0, 1).result(), err
}

// subscribeTx starts the bus with one subscription, whose handlers write a row each.
func (b *bus) subscribeTx(ctx context.Context) error {
	if err := b.makeTables(ctx); err != nil {
		return err
	}
	b.handled = make([]count, 1)
	_, err := runtime.SubscribeTx(b.Bus, events.OrderPlacedType, subscriptionName(0),
		func(ctx context.Context, tx runtime.Tx, e runtime.Event[events.OrderPlaced]) error {
			_, err := tx.ExecContext(ctx, insertEntry, 1, e.Payload.Total)
			if err == nil {
				b.handled[0].Add(1)
			}
			return err
		}, runtime.WithConcurrency(handlersAtOnce))
	if err != nil {
		return err
	}
	return b.Start(ctx)
}
