package main

import (
	"context"
	"path/filepath"
	stdruntime "runtime"
	"testing"

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
	payloads := make([]orderPlaced, 1000)
	for i := range payloads {
		payloads[i] = sample
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := runtime.PublishBatch(b.Context(), bus.Bus, orderPlacedType, payloads); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(payloads)), "ns/event")
}

func BenchmarkHandle(b *testing.B) {
	bus := benchBus(b)
	if err := bus.subscribe(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	parallel128(b, bus)
	if err := bus.WaitIdle(b.Context()); err != nil {
		b.Fatal(err)
	}
	if handled := bus.handled.Load(); handled != int64(b.N) {
		b.Fatalf("%d events were published and %d handled", b.N, handled)
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
	if _, err := runtime.Publish(b.Context(), bus.Bus, orderPlacedType, sample); err != nil {
		b.Error(err)
	}
}
