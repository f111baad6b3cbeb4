package systest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

func init() {
	for _, killer := range []string{"parents", "children"} {
		children["a child kills in "+killer] = func(path string) { killedParentChild(path, killer) }
	}
}

const killerAttempts = 3 // the max_attempts of all subscriptions

// killedParentChild handles a parent that waits for a child, whose handler in one of two
// subscriptions kills the process. The first attempt at the parent fails, so that it has a
// row.
func killedParentChild(path, killer string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	for _, name := range []string{"parents", "children"} {
		_, err = runtime.Subscribe(bus, PlacedType, name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			say("running %s %s %d", name, e.Payload.OrderID, e.Attempt)
			switch {
			case e.Payload.OrderID == "parent" && name == "parents" && e.Attempt == 1:
				return ErrBoom
			case e.Payload.OrderID == "parent" && name == "parents":
				receipt, err := runtime.Publish(ctx, bus, PlacedType, OrderPlaced{OrderID: "child"},
					runtime.Immediately(), runtime.WithDedupeKey("child"))
				check(err)
				outcome, err := receipt.Wait(ctx)
				check(err)
				var dead *runtime.DeadLetteredError
				say("dead: %v", errors.As(outcome.Err(), &dead))
			case e.Payload.OrderID == "child" && name == killer:
				process, _ := os.FindProcess(os.Getpid())
				process.Kill()
				select {}
			}
			return nil
		}, runtime.FromBeginning(), runtime.WithRetry(retry.BaseDelay(time.Millisecond), retry.MaxAttempts(killerAttempts)))
		check(err)
	}
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
}

// The parent is delivered again after each crash, and is told so, but what kills is the
// child.
func TestAChildThatKillsItsProcessIsFoundAndItsParentGoesOn(t *testing.T) {
	short.Skip(t, "processes are killed, and a suspect waits for ten seconds of real time")
	for _, killer := range []string{"parents", "children"} {
		t.Run("in "+killer, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.db")
			f := SQLite.Reopen(t, path)
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "parent"})
			Must(t, err)
			f.Stop()

			lives, parents, kills, dead, finished := 0, 0, 0, 0, false
			for ; !finished && lives < 12; lives++ {
				lines := child(t, "a child kills in "+killer, path, 0)
				for _, line := range lines {
					switch line {
					case fmt.Sprintf("running parents parent %d", parents+1):
						parents++
					case fmt.Sprintf("running %s child %d", killer, kills+1):
						kills++
					case "dead: true":
						dead++
					}
				}
				finished = slices.Contains(lines, "finished")
				t.Logf("life %d: %q", lives+1, lines)
			}
			if !finished || kills != killerAttempts || dead != 1 || parents < 3 {
				t.Errorf("after %d lives: finished %v, %d executions of the child in order, want %d; %d of the parent; %d were told that the child is dead, want 1",
					lives, finished, kills, killerAttempts, parents, dead)
			}
			inspector, err := inspect.Open(t.Context(), path)
			Must(t, err)
			defer inspector.Close()
			letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
			Must(t, err)
			if len(letters) != 1 || letters[0].Reason != "crash" || letters[0].Subscription != killer || len(letters[0].Attempts) != killerAttempts {
				t.Errorf("the dead letters are %+v, want the child", letters)
			}
			if got := queryFile(t, path, "SELECT count(*) FROM busgen_attempts"); got != fmt.Sprint(killerAttempts+1) {
				t.Errorf("%s failed attempts are on record, want %d of the child and the parent's first", got, killerAttempts)
			}
		})
	}
}

// A parent that has begun less than a moment before the crash has a row that does not say
// so. Its claim does.
func TestAParentThatWaitsAtACrashHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		once := runtime.WithRetry(retry.MaxAttempts(2), retry.BaseDelay(time.Second))
		begun := make(chan struct{})
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			switch {
			case e.Payload.Number == 2:
				close(begun)
				return Hang(ctx, e)
			case e.Attempt == 1:
				return ErrBoom
			}
			receipt, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{Number: 2}, runtime.Immediately())
			Must(t, err)
			_, err = receipt.Wait(ctx)
			return err
		}, once)
		f.MustStart()
		f.Publish(1)
		<-begun
		c := &Crowd{Fixture: SQLite.Reopen(t, f.Killed())}
		c.Handle("one", c.Work("one"), once)
		c.MustStart()
		c.Idle()
		c.Saw("one 1.3", "one 2.2")
		if got := queryFile(t, c.Path, "SELECT count(*) FROM busgen_attempts"); got != "2" {
			t.Errorf("%s failed attempts are on record, want the first of 1 and the crash of 2", got)
		}
		if got := queryFile(t, c.Path, "SELECT count(*) FROM busgen_crashes"); got != "0" {
			t.Errorf("%s handlers are said to have run together, want none", got)
		}
	})
}

func TestAHandlerThatGoesOnAfterItsWaitIsASuspectAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 2 {
				return nil
			}
			receipt, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{Number: 2}, runtime.Immediately())
			Must(t, err)
			_, err = receipt.Wait(ctx)
			Must(t, err)
			return Hang(ctx, e)
		})
		f.Handle("two", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				return Hang(ctx, e)
			}
			return nil
		}, runtime.WithConcurrency(2))
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		c := &Crowd{Fixture: SQLite.Reopen(t, f.Killed())}
		c.Handle("one", c.Work("one"))
		c.Handle("two", c.Work("two"))
		c.MustStart()
		c.Idle()
		c.Saw("one 1.2", "two 1.2")
		if got := queryFile(t, c.Path, "SELECT count(*) FROM busgen_crashes"); got != "2" {
			t.Errorf("%s handlers are said to have run together, want 2", got)
		}
	})
}

// Nobody else can have ended the process.
func TestAHandlerThatWaitedWhenNoneRanIsTheOneThatCrashed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		once := runtime.WithRetry(retry.MaxAttempts(1))
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			receipt, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{Number: 2}, runtime.Immediately(), runtime.WithDelay(time.Hour))
			Must(t, err)
			_, err = receipt.Wait(ctx)
			return err
		}, once, runtime.WithTimeout(2*time.Hour))
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		c := &Crowd{Fixture: SQLite.Reopen(t, f.Killed())}
		c.Handle("one", c.Work("one"), once)
		c.MustStart()
		time.Sleep(time.Minute)
		c.Saw()
		if got := queryFile(t, c.Path, "SELECT reason FROM busgen_deliveries WHERE state = 'dead'"); got != "crash" {
			t.Errorf("the reason of the dead letter is %q, want crash", got)
		}
	})
}
