package systest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

func init() {
	children["poisoned batch"] = func(path string) { poisonedBatchChild(path, false) }
	children["held batch"] = func(path string) { poisonedBatchChild(path, true) }
}

// poisonedBatchChild handles what is there in batches of 25 until an event kills it. A batch
// that is held stays in its handler until somebody else kills the process. The poison kills when
// the successes before it are stored, so that the batches are the same on a slow machine.
func poisonedBatchChild(path string, held bool) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	handled, first := 0, true
	_, err = runtime.SubscribeBatch(bus, PlacedType, "batches", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
		if first { // not before: while there is no subscription events are done
			handled, first = eventsDone(bus), false
		}
		say("batch %d", len(events))
		for _, e := range events {
			say("running %d %d", e.Payload.Number, e.Attempt)
		}
		if held {
			say("ready")
			select {}
		}
		for _, e := range events {
			if e.Payload.OrderID == "poison" {
				for eventsDone(bus) < handled {
					goruntime.Gosched()
				}
				process, _ := os.FindProcess(os.Getpid())
				process.Kill()
				select {}
			}
		}
		handled += len(events)
		return nil
	}, runtime.FromBeginning(), runtime.WithBatch(25, 50*time.Millisecond), runtime.WithRetry(retry.MaxAttempts(crowdAttempts)))
	check(err)
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
}

func eventsDone(bus *runtime.Bus) (n int) {
	check(runtime.DB(bus).QueryRow("SELECT count(*) FROM events WHERE status = 'done'").Scan(&n))
	return n
}

// poisonedBatch is a file with 25 events, which processes handle one after the other.
type poisonedBatch struct {
	t        *testing.T
	path     string
	poison   []int
	attempts [25]int // the highest of each event
	batches  []int   // the sizes of those of the last process
	deaths   int
}

func newPoisonedBatch(t *testing.T, poison ...int) *poisonedBatch {
	b := &poisonedBatch{t: t, path: filepath.Join(t.TempDir(), "events.db"), poison: poison}
	f := SQLite.Reopen(t, b.path)
	for n := range b.attempts {
		order := OrderPlaced{OrderID: "healthy", Number: n}
		if slices.Contains(poison, n) {
			order.OrderID = "poison"
		}
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, order)
		Must(t, err)
	}
	f.Stop()
	return b
}

// live runs a process, and tells whether it has handled everything.
func (b *poisonedBatch) live(mode string) (finished bool) {
	b.t.Helper()
	b.batches = nil
	for _, line := range child(b.t, mode, b.path, time.Millisecond) {
		var size, number, attempt int
		if _, err := fmt.Sscanf(line, "batch %d", &size); err == nil {
			b.batches = append(b.batches, size)
		}
		if _, err := fmt.Sscanf(line, "running %d %d", &number, &attempt); err == nil {
			if attempt <= b.attempts[number] {
				b.t.Errorf("event %d has attempt %d after %d", number, attempt, b.attempts[number])
			}
			b.attempts[number] = attempt
		}
		finished = finished || line == "finished"
	}
	if !finished {
		b.deaths++
	}
	return finished
}

func (b *poisonedBatch) liveOn() {
	b.t.Helper()
	for !b.live("poisoned batch") {
		if b.deaths > 50 {
			b.t.Fatal("there is no end")
		}
	}
}

// check looks for the dead letters, and for attempts that count for others.
func (b *poisonedBatch) check() {
	b.t.Helper()
	inspector, err := inspect.Open(b.t.Context(), b.path)
	Must(b.t, err)
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(b.t.Context(), event.Filter{}, event.Page{})
	Must(b.t, err)
	if len(letters) != len(b.poison) {
		b.t.Errorf("the dead letters are %+v, want %d", letters, len(b.poison))
	}
	for _, l := range letters {
		if l.Reason != "crash" || len(l.Attempts) != crowdAttempts {
			b.t.Errorf("a dead letter is %+v, want one that has crashed %d times", l, crowdAttempts)
		}
	}
	if got, want := queryFile(b.t, b.path, "SELECT count(*) FROM events WHERE status = 'done'"), fmt.Sprint(len(b.attempts)-len(b.poison)); got != want {
		b.t.Errorf("%s healthy events are done, want %s", got, want)
	}
	if got, want := queryFile(b.t, b.path, "SELECT count(*) FROM busgen_attempts"), fmt.Sprint(crowdAttempts*len(b.poison)); got != want {
		b.t.Errorf("%s failed attempts are on record, want the poison's %s", got, want)
	}
}

func TestAnEventThatKillsItsBatchIsFoundAndHarmsNoOther(t *testing.T) {
	short.Skip(t, "processes are killed, and a suspect waits for ten seconds of real time")
	b := newPoisonedBatch(t, 13)
	for _, want := range []int{25, 12, 6, 3, 2, 1, 1} { // with the first crash the last two make three attempts
		if b.live("poisoned batch") || len(b.batches) == 0 || b.batches[len(b.batches)-1] != want {
			t.Errorf("a process saw batches of %v, want one of %d that kills it", b.batches, want)
		}
	}
	if !b.live("poisoned batch") {
		t.Errorf("a process saw batches of %v and did not finish", b.batches)
	}
	for n, attempts := range b.attempts {
		if n > 13 && attempts > 6 || n < 13 && attempts > 2 {
			t.Errorf("event %d had %d attempts", n, attempts)
		}
	}
	b.check()
}

func TestTwoEventsThatKillTheirBatchAreBothFound(t *testing.T) {
	short.Skip(t, "processes are killed, and a suspect waits for ten seconds of real time")
	b := newPoisonedBatch(t, 2, 20)
	b.liveOn()
	if b.deaths > 2*(5+crowdAttempts-1) {
		t.Errorf("the process died %d times", b.deaths)
	}
	b.check()
}

func TestAHalfWhoseProcessIsKilledFromOutsideIsHalvedAndHarmsNone(t *testing.T) {
	short.Skip(t, "processes are killed, and a suspect waits for ten seconds of real time")
	b := newPoisonedBatch(t, 20)
	b.live("poisoned batch")
	b.live("held batch")
	if !slices.Equal(b.batches, []int{13}) {
		t.Errorf("when it was killed from outside batches of %v ran, want one of 13", b.batches)
	}
	b.live("poisoned batch")
	if !slices.Equal(b.batches, []int{7, 6, 12}) {
		t.Errorf("afterwards batches of %v ran, want 7, 6 and 12", b.batches)
	}
	b.liveOn()
	b.check()
}
