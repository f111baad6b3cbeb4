package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

func TestAReleaseAndARollbackLoseNoOrder(t *testing.T) {
	ctx, db, receipts := t.Context(), filepath.Join(t.TempDir(), "shop.db"), make(chan string, 10)
	open := func(f func(context.Context, string, func(string)) (*release, error)) *release {
		t.Helper()
		r, err := f(ctx, db, func(text string) { receipts <- text })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.bus.Shutdown(context.WithoutCancel(ctx)) })
		return r
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-receipts:
			if got != want {
				t.Fatalf("the receipt is %q, want %q", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no receipt came, want %q", want)
		}
	}
	// held waits until so many orders wait for release 2, and nothing else waits or is a dead letter.
	held := func(r *release, want int) {
		t.Helper()
		for limit := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			lags, err := r.bus.Lag(ctx)
			must(err)
			if len(lags) == 1 && lags[0].Backlog == want && lags[0].Held == want && lags[0].Dead == 0 {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("%+v, want %d held", lags, want)
			}
		}
	}

	old := open(first)
	must(old.bus.Start(ctx))
	must(old.publish(ctx, 1))
	expect("release 1: order 1, 500 cents")

	// The new release starts while the old one still runs: it publishes at once, and the old one cannot read that.
	next := open(second)
	started := make(chan error, 1)
	go func() { started <- next.bus.Start(ctx) }()
	must(next.publish(ctx, 2))
	must(old.publish(ctx, 3))
	expect("release 1: order 3, 500 cents")
	held(old, 1)
	must(old.bus.Shutdown(ctx))
	must(<-started)
	expect("release 2: order 2, 700 USD")
	must(next.bus.Shutdown(ctx))

	// One order of each release waits while no program runs.
	for i, f := range []func(context.Context, string, func(string)) (*release, error){first, second} {
		r := open(f)
		must(r.publish(ctx, int64(4+i)))
		must(r.bus.Shutdown(ctx))
	}
	rolledBack := open(first)
	must(rolledBack.bus.Start(ctx))
	expect("release 1: order 4, 500 cents")
	must(rolledBack.publish(ctx, 6))
	expect("release 1: order 6, 500 cents")
	held(rolledBack, 1)
	must(rolledBack.bus.Shutdown(ctx))

	last := open(first)
	must(last.publish(ctx, 7))
	must(last.bus.Shutdown(ctx))
	next = open(second)
	must(next.bus.Start(ctx))
	expect("release 2: order 5, 700 USD")
	expect("release 2: order 7, 500 EUR")
	held(next, 0)
}

func TestTheProgramRunsUntilItIsTold(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	receipts := make(chan string, 1)
	r, err := second(ctx, filepath.Join(t.TempDir(), "shop.db"), func(text string) { receipts <- text })
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	if got := <-receipts; got != "release 2: order 1, 700 USD" {
		t.Error(got)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
