package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"
)

// memoryInterval lies between two looks at the memory. A process gives memory back
// slowly, so that no peak is missed.
const memoryInterval = 2 * time.Millisecond

// watchMemory watches the resident memory of this process until stop is called, which
// returns the largest increase in MiB, or 0 on a system that does not report it.
func watchMemory() (stop func() float64) { return watch(residentMemory) }

// watchHeap watches what is alive on the heap, as each collection finds it, until stop is
// called, which returns the largest increase in MiB. A collection at the beginning and one at
// the end make sure that garbage does not count.
func watchHeap() (stop func() float64) {
	runtime.GC()
	runtime.GC() // what a pool or a finalizer had held is gone after the second
	peak := watch(liveHeap)
	return func() float64 {
		runtime.GC()
		return peak()
	}
}

func watch(read func() float64) (stop func() float64) {
	idle := read()
	done, peak := make(chan struct{}), make(chan float64)
	go func() {
		ticker := time.NewTicker(memoryInterval)
		defer ticker.Stop()
		for highest := idle; ; {
			select {
			case <-ticker.C:
				highest = max(highest, read())
			case <-done:
				peak <- max(highest, read())
				return
			}
		}
	}()
	return func() float64 {
		close(done)
		return <-peak - idle
	}
}

// residentMemory returns the memory that this process occupies, in MiB; 0 on a
// system that does not tell.
func residentMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, text, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	fmt.Sscan(text, &kib) // stays 0
	return kib / 1024
}

// liveHeap returns what the last collection has found alive, in MiB. Reading it does not
// stop the program.
func liveHeap() float64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return float64(live[0].Value.Uint64()) / (1 << 20)
}
