//go:build unix

package step_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/step"
)

// What handlers cost that sleep: bytes of the file, a part of a core, and time when the program is started again.
func BenchmarkSleepers(b *testing.B) {
	const sleepers = 50_000
	var bytes, core, restarts, restartCPU []float64
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "shop.db")
		sleep := func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			return step.Sleep(ctx, "pause", 24*time.Hour)
		}
		bus := shop(b, path, 128, sleep)
		publish(b, bus, sleepers)
		if err := bus.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		const sleeping = "SELECT count(*) FROM busgen_deliveries WHERE state = 'waiting'"
		for asleep := 0; asleep < sleepers; time.Sleep(50 * time.Millisecond) {
			if err := runtime.DB(bus).QueryRowContext(b.Context(), sleeping).Scan(&asleep); err != nil {
				b.Fatal(err)
			}
		}
		before, began := cpu(b), time.Now()
		time.Sleep(3 * time.Second)
		core = append(core, 100*float64(cpu(b)-before)/float64(time.Since(began)))
		if err := bus.Shutdown(b.Context()); err != nil {
			b.Fatal(err)
		}
		file, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		bytes = append(bytes, float64(file.Size())/sleepers)
		before, began = cpu(b), time.Now()
		bus = shop(b, path, 128, sleep)
		if err := bus.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		restartCPU = append(restartCPU, float64((cpu(b)-before).Microseconds())/1000)
		restarts = append(restarts, float64(time.Since(began).Microseconds())/1000)
		if err := bus.Shutdown(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(bytes), "B/sleeper")
	b.ReportMetric(median(core), "%core")
	b.ReportMetric(median(restarts), "ms/restart")
	b.ReportMetric(median(restartCPU), "cpu-ms/restart")
}

// cpu is what this process has used.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
