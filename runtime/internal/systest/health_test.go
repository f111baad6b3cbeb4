package systest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/observe"
)

func TestADeadLetterThatIsWrittenAfterTheBusHasLookedIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := SQLite.OpenPatient(t, observe.DefaultHealth())
		p.MustStart()
		_, err := runtime.PublishBatch(t.Context(), p.Bus, PlacedType, slices.Repeat([]OrderPlaced{{Number: FailsForGood}}, 101), runtime.WithDelay(Look-time.Second))
		Must(t, err)
		locked, err := sqlite3.Open(p.Path)
		Must(t, err)
		defer locked.Close()
		time.Sleep(Look - 2*time.Second)
		Must(t, locked.Exec("BEGIN IMMEDIATE")) // they die, are counted and cannot be written
		time.Sleep(3 * time.Second)
		if got := p.Stats().Types[0].Dead; got != 101 {
			t.Fatalf("%d events are dead, want 101", got)
		}
		if c := p.Health().Checks[1]; c.Value != 0 {
			t.Fatalf("the file has %v dead letters while it is locked", c.Value)
		}
		Must(t, locked.Exec("ROLLBACK"))
		time.Sleep(Look)
		p.RequireChanges("dead_letters true: 101 of 0, mostly reader")
	})
}

func TestAnIdleBusDoesNotAskTheFileForDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := SQLite.OpenPatient(t, observe.DefaultHealth())
		p.MustStart()
		p.Happens(FailsForGood, 1)
		time.Sleep(3 * Look)
		// They come from elsewhere, and nothing happens here.
		Must(t, execFile(p.Path, `
			BEGIN;
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
			INSERT INTO busgen_log (id, type, payload, created_at) SELECT randomblob(16), type, payload, created_at FROM busgen_log, n;
			INSERT INTO busgen_deliveries (subscription, seq, state, failures, dead_at, reason)
			SELECT 1, seq, 'dead', 1, 0, 'permanent' FROM busgen_log WHERE seq > 1;
			UPDATE busgen_subscriptions SET cursor = (SELECT max(seq) FROM busgen_log);
			COMMIT`))
		time.Sleep(10 * Look)
		p.RequireChanges()
		p.Happens(Fine, 1)
		time.Sleep(Look)
		p.RequireChanges("dead_letters true: 201 of 0, mostly reader")
	})
}

func TestDeadLettersThatCannotBeCountedAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := SQLite.OpenPatient(t, observe.DefaultHealth())
		p.MustStart()
		Must(t, execFile(p.Path, "ALTER TABLE busgen_subscriptions RENAME TO hidden"))
		time.Sleep(5 * Look)
		Must(t, execFile(p.Path, "ALTER TABLE hidden RENAME TO busgen_subscriptions"))
		time.Sleep(5 * Look)
		n := 0
		for _, line := range p.Log.Level(t, "ERROR") {
			if line["msg"] == "dead letters cannot be counted; trying again" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("it was logged %d times, want once", n)
		}
		p.Happens(FailsForGood, 101)
		time.Sleep(Look)
		p.RequireChanges("unwritable true: 1 of 0, mostly corrupt", "unwritable false: 0 of 0, mostly ",
			"dead_letters true: 101 of 0, mostly reader")
	})
}
