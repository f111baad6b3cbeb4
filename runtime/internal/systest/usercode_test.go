package systest

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func init() {
	for _, way := range WaysToSubscribe {
		children["trapped "+way] = func(path string) { trappedChild(way, path) }
	}
}

// trappedChild handles what is there until an event kills it.
func trappedChild(way, path string) {
	bus, err := runtime.Open(context.Background(), path, TrappedCatalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	check(err)
	check(SubscribeTrapped(bus, way, func(n, attempt int) { say("running %d %d", n, attempt) }))
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
}

func TestAnEventThatKillsItsProcessWhenItIsReadIsFound(t *testing.T) {
	short.Skip(t, "processes are killed, and a suspect waits for ten seconds of real time")
	for _, way := range WaysToSubscribe {
		for _, what := range []Trap{"kill in decode", "kill in key", "kill in handle"} {
			if what == "kill in key" && way == "one worker" {
				continue // nobody asks for it
			}
			t.Run(way+"/"+string(what), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "events.db")
				f := SQLite.ReopenWith(t, path, TrappedCatalogue)
				for n := range 6 {
					what := what
					if n != 3 {
						what = ""
					}
					PublishTrapped(t, f.Bus, n, what)
				}
				f.Stop()
				handled := map[string]bool{}
				lives := 0
				for finished := false; !finished && lives < 8; lives++ {
					for _, line := range child(t, "trapped "+way, path, 0) {
						if number, attempt, running := strings.Cut(strings.TrimPrefix(line, "running "), " "); running {
							if attempt != "1" && !handled[number] {
								t.Errorf("event %s, which was never handled before, was told it is attempt %s", number, attempt)
							}
							handled[number] = true
						}
						finished = finished || line == "finished"
					}
				}
				if got, want := slices.Sorted(maps.Keys(handled)), []string{"0", "1", "2", "4", "5"}; !slices.Equal(got, want) {
					t.Errorf("the events %v were handled, want %v", got, want)
				}
				l := SQLite.Letter(t, path)
				if l.Reason != "crash" || len(l.Attempts) != 3 || lives != 4 {
					t.Errorf("it is dead with %s after %d attempts and %d processes; want crash, 3 and 4", l.Reason, len(l.Attempts), lives)
				}
				if got := queryFile(t, path, "SELECT count(*) FROM busgen_attempts"); got != "3" {
					t.Errorf("%s attempts were recorded, want 3", got)
				}
			})
		}
	}
}

func TestAKeyThatHangsDoesNotHoldUpAShutdown(t *testing.T) {
	for _, way := range WaysToSubscribe[1:] {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				Hanging = make(chan struct{})
				defer close(Hanging)
				f := SQLite.ReopenWith(t, filepath.Join(t.TempDir(), "events.db"), TrappedCatalogue)
				Must(t, SubscribeTrapped(f.Bus, way, func(int, int) {}))
				f.MustStart()
				PublishTrapped(t, f.Bus, 1, "hang in decode")
				PublishTrapped(t, f.Bus, 2, "")
				synctest.Wait()
				began := time.Now()
				f.Stop()
				if took := time.Since(began); took > 0 {
					t.Errorf("the shutdown took %v", took)
				}
				if got := queryFile(t, f.Path, "SELECT (SELECT count(*) FROM busgen_attempts) || (SELECT count(*) FROM events WHERE status = 'pending')"); got != "02" {
					t.Errorf("attempts and pending events are %s, want none and both", got)
				}
				claimed, err := os.ReadFile(f.Path + "-claims")
				Must(t, err)
				if len(claimed) > 0 {
					t.Errorf("the shutdown leaves %d bytes of claims", len(claimed))
				}
			})
		})
	}
}
