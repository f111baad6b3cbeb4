package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// memoryInterval lies between two looks at the memory. What a process has taken
// it gives back slowly, so that no peak is missed.
const memoryInterval = 2 * time.Millisecond

// watchMemory looks at how much memory this process has until stop is called.
// That returns by how much it was at most above what it was at first, in MiB; 0
// on a system that does not tell.
func watchMemory() (stop func() float64) {
	idle := residentMemory()
	done, peak := make(chan struct{}), make(chan float64)
	go func() {
		ticker := time.NewTicker(memoryInterval)
		defer ticker.Stop()
		for highest := idle; ; {
			select {
			case <-ticker.C:
				highest = max(highest, residentMemory())
			case <-done:
				peak <- highest
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
