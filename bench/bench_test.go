package main

import (
	"context"
	"path/filepath"
	stdruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

// These are for profiles and for counting allocations; the command compares
// with the limit. One operation is one event, except with a batch.

func BenchmarkPublish(b *testing.B) {
	bus := benchBus(b)
	b.ReportAllocs()
	for b.Loop() {
		publishSample(b, bus)
	}
}

func BenchmarkPublishParallel128(b *testing.B) {
	bus := benchBus(b)
	b.ReportAllocs()
	parallel128(b, bus)
}

func BenchmarkPublishBatch1000(b *testing.B) {
	bus := benchBus(b)
	payloads := samples(1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := runtime.PublishBatch(b.Context(), bus.Bus, events.OrderPlacedType, payloads); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(payloads)), "ns/event")
}

// BenchmarkTx is about a transaction with two rows and an event, BenchmarkOwnTx about the same
// with database/sql.
func BenchmarkTx(b *testing.B)    { benchmarkTx(b, 1, busTx) }
func BenchmarkTx128(b *testing.B) { benchmarkTx(b, 128, busTx) }

func BenchmarkOwnTx(b *testing.B)    { benchmarkTx(b, 1, databaseTx) }
func BenchmarkOwnTx128(b *testing.B) { benchmarkTx(b, 128, databaseTx) }

func busTx(b *testing.B) func(account int) error {
	bus := benchBus(b)
	if err := bus.makeTables(b.Context()); err != nil {
		b.Fatal(err)
	}
	return func(account int) error { return bus.book(b.Context(), account) }
}

func databaseTx(b *testing.B) func(account int) error {
	s := &setting{dir: b.TempDir()}
	b.Cleanup(func() {
		if err := s.close(); err != nil {
			b.Error(err)
		}
	})
	own, err := s.ownTx(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return func(account int) error { return own.book(b.Context(), account) }
}

func benchmarkTx(b *testing.B, callers int, open func(b *testing.B) func(account int) error) {
	book := open(b)
	b.ReportAllocs()
	b.ResetTimer()
	atOnce(b, callers, func() error { return book(1) })
}

// BenchmarkHandleTx publishes, and handles within transactions.
func BenchmarkHandleTx(b *testing.B) {
	bus := benchBus(b)
	if err := bus.subscribeTx(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	parallel128(b, bus)
	if err := bus.requireHandled(b.Context(), b.N); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHandle publishes and handles, BenchmarkHandleByTen by ten
// subscriptions.
func BenchmarkHandle(b *testing.B)      { benchmarkHandle(b, 1) }
func BenchmarkHandleByTen(b *testing.B) { benchmarkHandle(b, 10) }

func benchmarkHandle(b *testing.B, subscriptions int) {
	bus := benchBus(b)
	if err := bus.subscribe(b.Context(), subscriptions, false, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	parallel128(b, bus)
	if err := bus.requireHandled(b.Context(), b.N); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCatchUp handles events that are in the file already: what it
// allocates is what handling alone allocates. BenchmarkCatchUpInBatches does so
// in batches of up to 128.
func BenchmarkCatchUp(b *testing.B)          { benchmarkCatchUp(b, false) }
func BenchmarkCatchUpInBatches(b *testing.B) { benchmarkCatchUp(b, true) }

func benchmarkCatchUp(b *testing.B, batched bool) {
	path := filepath.Join(b.TempDir(), "bus.db")
	if _, err := fill(b.Context(), path, b.N, false, 0); err != nil {
		b.Fatal(err)
	}
	bus, err := openBus(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := bus.subscribe(b.Context(), 1, batched, nil); err != nil {
		b.Fatal(err)
	}
	if err := bus.requireHandled(b.Context(), b.N); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := bus.Shutdown(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func benchBus(b testing.TB) *bus {
	b.Helper()
	bus, err := openBus(b.Context(), filepath.Join(b.TempDir(), "bus.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := bus.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return bus
}

// atOnce does something b.N times, on that many goroutines.
func atOnce(b *testing.B, goroutines int, do func() error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}

// parallel128 publishes b.N events from 128 goroutines, or a few more where
// that is not a multiple of the number of processors.
func parallel128(b *testing.B, bus *bus) {
	processors := stdruntime.GOMAXPROCS(0)
	b.SetParallelism((128 + processors - 1) / processors)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			publishSample(b, bus)
		}
	})
}

func publishSample(b *testing.B, bus *bus) {
	if _, err := events.PublishOrderPlaced(b.Context(), bus.Bus, sample); err != nil {
		b.Error(err)
	}
}
