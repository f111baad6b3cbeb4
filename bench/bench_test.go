package main

import (
	"context"
	"path/filepath"
	stdruntime "runtime"
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
		if _, err := events.PublishOrderPlacedBatch(b.Context(), bus.Bus, payloads); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(payloads)), "ns/event")
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
// allocates is what handling alone allocates.
func BenchmarkCatchUp(b *testing.B) {
	bus := benchBus(b)
	if _, err := bus.publishMany(b.Context(), b.N, 0); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if _, _, err := bus.drain(b.Context(), b.N, runtime.FromBeginning()); err != nil {
		b.Fatal(err)
	}
}

func benchBus(b *testing.B) *bus {
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
