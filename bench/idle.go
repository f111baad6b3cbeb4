package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// idle is what buses cost that have nothing to do, each with a file, a subscription and a
// handled event.
type idle struct {
	Buses      int     `json:"buses"`
	Goroutines float64 `json:"goroutines"` // these are for one bus
	Heap       float64 `json:"heap_kb"`    // KiB
	RSS        float64 `json:"rss_kb"`     // KiB; 0 where the system does not tell, and so the next two
	CPU        float64 `json:"cpu_us"`     // µs in a second
	Switches   float64 `json:"switches"`   // how often a thread has gone to sleep in a second
}

// measureIdle opens so many buses, and looks at the process for a while.
//
// System calls are counted from outside: strace -f -c go run ./bench -idle 100.
func measureIdle(ctx context.Context, buses int, total time.Duration, folder string) (r idle, err error) {
	root, err := os.MkdirTemp(folder, "busgen-bench-")
	if err != nil {
		return r, fmt.Errorf("no folder for the event logs: %w", err)
	}
	defer os.RemoveAll(root)
	runtime.GC()
	runtime.GC() // what pools keep is free after the second one
	goroutines, heap, rss := runtime.NumGoroutine(), liveHeap(), residentMemory()
	var open []*bus
	defer func() {
		for _, b := range open {
			err = errors.Join(err, b.Shutdown(context.WithoutCancel(ctx)))
		}
	}()
	for i := range buses {
		b, err := openBus(ctx, filepath.Join(root, fmt.Sprintf("%d.db", i)))
		if err != nil {
			return r, err
		}
		open = append(open, b)
		if err := b.subscribe(ctx, 1, false, nil); err != nil {
			return r, err
		}
		if err := b.publishAtOnce(ctx, 1, 1); err != nil {
			return r, err
		}
	}
	for _, b := range open {
		if err := b.requireHandled(ctx, 1); err != nil {
			return r, err
		}
	}
	if err := sleep(ctx, time.Second); err != nil { // until what comes after a start is done
		return r, err
	}
	runtime.GC()
	each := func(n float64) float64 { return n / float64(buses) }
	r = idle{
		Buses: buses, Goroutines: each(float64(runtime.NumGoroutine() - goroutines)),
		Heap: each((liveHeap() - heap) * 1024), RSS: each((residentMemory() - rss) * 1024),
	}
	cpu, switches := threads()
	began := time.Now()
	if err := sleep(ctx, total); err != nil {
		return r, err
	}
	cpuThen, switchesThen := threads()
	seconds := time.Since(began).Seconds()
	r.CPU, r.Switches = each(float64((cpuThen-cpu).Microseconds())/seconds), each(float64(switchesThen-switches)/seconds)
	return r, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// threads returns how long the threads of this process have run, and how often they have gone
// to sleep; 0 on a system that does not tell.
func threads() (ran time.Duration, slept int64) {
	tasks, _ := filepath.Glob("/proc/self/task/*")
	for _, task := range tasks {
		var n int64
		stat, _ := os.ReadFile(task + "/schedstat")
		if _, err := fmt.Sscan(string(stat), &n); err == nil {
			ran += time.Duration(n)
		}
		status, _ := os.ReadFile(task + "/status")
		_, text, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		if _, err := fmt.Sscan(text, &n); err == nil {
			slept += n
		}
	}
	return ran, slept
}

func (r idle) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%d idle buses, each with a file, a subscription and a handled event. For one of them:
  goroutines                   %8.1f
  alive on the heap            %8.0f KiB
  resident memory              %8.0f KiB
  CPU time in a second         %8.0f µs
  threads that go to sleep     %8.1f in a second
%s/%s, %d cores, %s
`, r.Buses, r.Goroutines, r.Heap, r.RSS, r.CPU, r.Switches, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		runtime.Version())
	return err
}
