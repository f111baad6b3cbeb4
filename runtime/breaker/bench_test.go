package breaker_test

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// What a breaker costs a handler that succeeds, without reading the time.
func BenchmarkClosed(b *testing.B) {
	br, now := breaker.New(breaker.Default()), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		permit, _ := br.Acquire(now, 1)
		permit.Success(now)
	}
}

func BenchmarkClosedByManyGoroutines(b *testing.B) {
	br, now := breaker.New(breaker.Default()), time.Now()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			permit, _ := br.Acquire(now, 1)
			permit.Success(now)
		}
	})
}

func BenchmarkRefused(b *testing.B) {
	br := opened(b)
	b.ReportAllocs()
	for b.Loop() {
		br.Acquire(noon, 1)
	}
}
