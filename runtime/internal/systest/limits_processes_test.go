package systest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func init() {
	children["limits shared"] = sharedLimitsChild
	children["limits by key"] = keyedLimitsChild
}

func openLimiter(path string, limit declare.Limit) (*runtime.Bus, *runtime.Limiter) {
	bus, err := runtime.Open(context.Background(), path, Catalogue, runtime.WithLimit(limit))
	check(err)
	limiter, err := bus.Limiter(limit.Name)
	check(err)
	return bus, limiter
}

const sharedBurst = 20

// sharedLimitsChild uses what it gets of a burst.
func sharedLimitsChild(path string) {
	bus, limiter := openLimiter(path, declare.Limit{Name: "mail", Rate: sharedBurst, Per: sharedBurst * time.Hour})
	for {
		limited, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		err := limiter.Do(limited, func(context.Context) error { say("begun"); return nil })
		if cancel(); errors.Is(err, context.DeadlineExceeded) {
			break // it is used up
		}
		check(err)
	}
	check(bus.Shutdown(context.Background()))
}

func TestSeveralProcessesShareABurst(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "events.db")
	SQLite.Reopen(t, path).Stop()
	const processes = 4
	var mu sync.Mutex
	begun := 0
	var waits []func()
	for range processes {
		waits = append(waits, beginChild(t, "limits shared", path, func(word, _ string) {
			mu.Lock()
			defer mu.Unlock()
			if word == "begun" {
				begun++
			}
		}))
	}
	for _, wait := range waits {
		wait()
	}
	// Each may have leased one too late to use it.
	if begun > sharedBurst || begun < sharedBurst-processes {
		t.Errorf("%d have begun, of a burst of %d", begun, sharedBurst)
	}
}

const limitedKeys = 3000

// keyedLimitsChild begins each key that has not begun within the last hour, until it is killed.
func keyedLimitsChild(path string) {
	bus, limiter := openLimiter(path, declare.Limit{Name: "mail", Rate: 1, Per: time.Hour})
	say("ready")
	for _, n := range rand.Perm(limitedKeys) {
		go limiter.DoFor(context.Background(), fmt.Sprint(n), func(context.Context) error { say("%d", n); return nil })
	}
	time.Sleep(time.Minute)
	check(bus.Shutdown(context.Background()))
}

// Leases are being stored nearly all the time.
func TestAKillWhileALeaseIsStoredLetsNothingBeginTwice(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "events.db")
	SQLite.Reopen(t, path).Stop()
	begun := map[string]int{}
	for round := 0; round < 25 || round < 250 && len(begun) < 10; round++ { // a slow machine needs more of them
		within := time.Duration(1+rand.IntN(40*(1+round/25))) * time.Millisecond
		for _, key := range child(t, "limits by key", path, within) {
			if begun[key]++; begun[key] == 2 && key != "ready" {
				t.Errorf("key %s has begun twice within an hour", key)
			}
		}
	}
	if len(begun) < 10 {
		t.Errorf("only %d keys have begun", len(begun)-1)
	}
	t.Logf("%d of %d keys have begun", len(begun)-1, limitedKeys)
	SQLite.Reopen(t, path).Stop()
}
