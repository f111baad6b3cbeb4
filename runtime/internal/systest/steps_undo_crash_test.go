package systest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/step"
)

func init() {
	for _, concurrency := range []int{8, 128} {
		children[fmt.Sprint("undo ", concurrency)] = func(path string) { ordersChild(path, concurrency, undoHandler(say)) }
	}
}

// undoHandler gives up behind two steps. It says
//
//	uncharging <order>  the undo of the second step is called
//	uncharged <order>   that is stored: the undo of the first step is called
func undoHandler(say func(format string, args ...any)) runtime.Handler[OrderPlaced] {
	return func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		n := e.Payload.Number
		row := func(ctx context.Context, tx runtime.Tx, name string) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO effect (number, step) VALUES (?, ?)", n, name)
			return err
		}
		_, err := step.TxUndo(ctx, "reserve", func(ctx context.Context, tx runtime.Tx) (int, error) {
			return n, row(ctx, tx, "reserve")
		}, func(ctx context.Context, tx runtime.Tx, _ int) error {
			say("uncharged %d", n)
			return row(ctx, tx, "unreserve")
		})
		if err != nil {
			return err
		}
		_, err = step.DoUndo(ctx, "charge", func(context.Context) (int, error) { return n, nil }, func(_ context.Context, charged int) error {
			if charged != n {
				return fmt.Errorf("the charge of order %d is undone as that of %d", n, charged)
			}
			say("uncharging %d", n)
			return nil
		})
		if err != nil {
			return err
		}
		return step.Rollback(errors.New("no parcel"))
	}
}

// An undo that is stored does not begin again, the order is that of the steps backwards, rows are there once, and every order is undone.
func TestUndoRunsBackwardsOverTwoHundredKills(t *testing.T) {
	short.Skip(t, "two hundred processes are killed")
	for _, concurrency := range []int{8, 128} {
		t.Run(strconv.Itoa(concurrency), func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("100 rounds of kill -9, seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			path := filepath.Join(t.TempDir(), "events.db")
			published, uncharged, uncharging := map[string]bool{}, map[string]bool{}, map[string]int{}
			note := func(line string) {
				word, rest, _ := strings.Cut(line, " ")
				switch word {
				case "published":
					published[rest] = true
				case "uncharging":
					if uncharging[rest]++; uncharged[rest] {
						t.Errorf("the charge of order %s was undone, and that begins again", rest)
					}
				case "uncharged":
					if uncharged[rest] = true; uncharging[rest] == 0 {
						t.Errorf("the first step of order %s is undone before the second", rest)
					}
				}
			}
			for range 100 {
				for _, line := range child(t, fmt.Sprint("undo ", concurrency), path, time.Duration(1+random.IntN(60))*time.Millisecond) {
					note(line)
				}
			}
			f := SQLite.Reopen(t, path)
			var mu sync.Mutex
			f.Handle("fulfil", undoHandler(func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				note(fmt.Sprintf(format, args...))
			}), append(stepsOptions, runtime.WithConcurrency(concurrency))...)
			f.MustStart()
			f.Idle()
			f.Stop()
			again := 0
			for _, n := range uncharging {
				again += n - 1
			}
			t.Logf("%d orders; %d charges are undone, %d of them began twice", len(published), len(uncharging), again)
			if len(published) < 100 {
				t.Fatal("the children hardly lived")
			}
			for what, query := range map[string]string{
				"events that are not undone":       "SELECT count(*) FROM events e WHERE NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.event_id = e.id AND d.reason = 'undone')",
				"rows that are there twice":        "SELECT count(*) FROM (SELECT 1 FROM effect GROUP BY number, step HAVING count(*) > 1)",
				"orders without both of its rows":  "SELECT count(*) - (SELECT count(*) / 2 FROM effect) FROM events",
				"events that are undone otherwise": "SELECT count(*) FROM dead_letters WHERE last_error <> 'no parcel'",
			} {
				if got := queryFile(t, path, query); got != "0" {
					t.Errorf("there are %s %s", got, what)
				}
			}
			if got := queryFile(t, path, "PRAGMA integrity_check"); got != "ok" {
				t.Errorf("integrity_check says %s", got)
			}
		})
	}
}
