package runtimetest

import (
	"bytes"
	"fmt"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// stalledAfter is the real time after which a bubble whose clock stands still is given up.
var stalledAfter = 30 * time.Second

// watched calls f, which runs a test in a bubble and tells the bubble by its argument. If the clock of the bubble stands
// still because a goroutine waits for a network or a pipe, watched ends the process: the test would never end.
func watched(f func(inBubble func())) {
	var bubble atomic.Pointer[string]
	limit := stalledAfter
	done := make(chan struct{})
	defer close(done)
	go func() {
		look := time.NewTicker(limit / 6)
		defer look.Stop()
		before, since := "", time.Now()
		for {
			select {
			case <-done:
				return
			case <-look.C:
			}
			id := bubble.Load()
			if id == nil {
				continue
			}
			now, waiting := stallIn(*id)
			if waiting == "" || now != before {
				before, since = now, time.Now()
				continue
			}
			if time.Since(since) >= limit {
				panic(fmt.Sprintf("runtimetest: the virtual time of the test stands still: for %v of real time this goroutine waits for a network or a pipe, "+
					"which virtual time does not pass over. Call an HTTP handler without a server, or take a kit with the real clock; "+
					"docs/testing.md, \"Servers in a test\", says how.\n\n%s\n", limit, waiting))
			}
		}
	}()
	f(func() {
		if id := bubbleOf(stacks(false)); id != "" {
			bubble.Store(&id)
		}
	})
}

var (
	inBubbleState = regexp.MustCompile(`^goroutine \d+ \[([^\]]*), (synctest bubble \d+)\]:`)
	waitedFor     = regexp.MustCompile(`, \d+ minutes`)
)

func bubbleOf(stack string) string {
	if found := inBubbleState.FindStringSubmatch(stack); found != nil {
		return found[2]
	}
	return ""
}

// stallIn returns the stacks of the goroutines of a bubble, and that of one that waits for a network or a pipe. waiting
// is empty if there is none, or if another goroutine still does something.
func stallIn(bubble string) (all, waiting string) {
	var mine []string
	for stack := range strings.SplitSeq(stacks(true), "\n\n") {
		stack = waitedFor.ReplaceAllString(stack, "")
		found := inBubbleState.FindStringSubmatch(stack)
		if found == nil || found[2] != bubble {
			continue
		}
		mine = append(mine, stack)
		switch state := found[1]; {
		case strings.HasPrefix(state, "IO wait"):
			waiting = stack
		case slices.ContainsFunc([]string{"running", "runnable", "syscall"}, func(busy string) bool { return strings.HasPrefix(state, busy) }):
			return "", ""
		}
	}
	return strings.Join(mine, "\n\n"), waiting
}

// stacks returns the stack of this goroutine, or those of all.
func stacks(all bool) string {
	for size := 64 << 10; ; size *= 2 {
		text := make([]byte, size)
		if n := goruntime.Stack(text, all); n < size || !all {
			return string(bytes.TrimSpace(text[:n]))
		}
	}
}
