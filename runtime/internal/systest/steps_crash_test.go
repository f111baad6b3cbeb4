package systest

import (
	"context"
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
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/step"
)

func init() {
	for _, concurrency := range []int{8, 128} {
		children[fmt.Sprint("steps ", concurrency)] = func(path string) { ordersChild(path, concurrency, stepsHandler(say)) }
	}
}

// stepsHandler does the steps of an order. It says
//
//	doing <step>    its function is called
//	done <step>     step.Do, or its like, has returned
func stepsHandler(say func(format string, args ...any)) runtime.Handler[OrderPlaced] {
	return func(ctx context.Context, e runtime.Event[OrderPlaced]) error { return orderSteps(ctx, e, say) }
}

func orderSteps(ctx context.Context, e runtime.Event[OrderPlaced], say func(format string, args ...any)) error {
	n := e.Payload.Number
	row := func(name string) error {
		_, err := step.Tx(ctx, name, func(ctx context.Context, tx runtime.Tx) (int, error) {
			_, err := tx.ExecContext(ctx, "INSERT INTO effect (number, step) VALUES (?, ?)", n, name)
			return n, err
		})
		return err
	}
	do := func(name string) error {
		got, err := step.Do(ctx, name, func(context.Context) (int, error) {
			say("doing %d-%s", n, name)
			return n, nil
		})
		if err == nil && got != n {
			err = fmt.Errorf("the result of %s is %d, want %d", name, got, n)
		}
		if err == nil {
			say("done %d-%s", n, name)
		}
		return err
	}
	if err := row("reserve"); err != nil {
		return err
	}
	if err := do("charge"); err != nil {
		return err
	}
	if err := step.Sleep(ctx, "nap", 10*time.Millisecond); err != nil {
		return err
	}
	if err := row("ship"); err != nil {
		return err
	}
	return do("mail")
}

var stepsOptions = []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(5), retry.BaseDelay(time.Millisecond))}

// ordersChild handles orders, which it publishes, until it is killed.
func ordersChild(path string, concurrency int, handler runtime.Handler[OrderPlaced]) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	check(runtime.Transact(context.Background(), bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(context.Background(), "CREATE TABLE IF NOT EXISTS effect (number INTEGER, step TEXT)")
		return err
	}))
	_, err = runtime.Subscribe(bus, PlacedType, "fulfil", handler, append(stepsOptions, runtime.WithConcurrency(concurrency))...)
	check(err)
	check(bus.Start(context.Background()))
	say("ready")
	for {
		orders := make([]OrderPlaced, 10)
		for i := range orders {
			orders[i] = OrderPlaced{OrderID: "A", Number: int(rand.Int32())}
		}
		_, err := runtime.PublishBatch(context.Background(), bus, PlacedType, orders)
		check(err)
		for _, o := range orders {
			say("published %d", o.Number)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// No step whose function has returned begins again, rows of transactions are there once, and no order is lost.
func TestAStoredStepIsNotCalledAgainByTwoHundredKills(t *testing.T) {
	short.Skip(t, "two hundred processes are killed")
	for _, concurrency := range []int{8, 128} {
		t.Run(strconv.Itoa(concurrency), func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("100 rounds of kill -9, seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			path := filepath.Join(t.TempDir(), "events.db")
			published, done, doing := map[string]bool{}, map[string]bool{}, map[string]int{}
			note := func(line string) {
				word, rest, _ := strings.Cut(line, " ")
				switch word {
				case "published":
					published[rest] = true
				case "doing":
					if doing[rest]++; done[rest] {
						t.Errorf("the step %s was done, and begins again", rest)
					}
				case "done":
					done[rest] = true
				}
			}
			for range 100 {
				for _, line := range child(t, fmt.Sprint("steps ", concurrency), path, time.Duration(1+random.IntN(60))*time.Millisecond) {
					note(line)
				}
			}
			f := SQLite.Reopen(t, path)
			var mu sync.Mutex
			f.Handle("fulfil", stepsHandler(func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				note(fmt.Sprintf(format, args...))
			}), append(stepsOptions, runtime.WithConcurrency(concurrency))...)
			f.MustStart()
			f.Idle()
			f.Stop()
			again := 0
			for _, n := range doing {
				again += n - 1
			}
			t.Logf("%d orders; %d effects, %d of them began twice", len(published), len(doing), again)
			if len(published) < 100 {
				t.Fatal("the children hardly lived")
			}
			for what, query := range map[string]string{
				"dead letters":                    "SELECT count(*) FROM dead_letters",
				"events that are not handled":     "SELECT count(*) FROM events WHERE status <> 'done'",
				"rows that are there twice":       "SELECT count(*) FROM (SELECT 1 FROM effect GROUP BY number, step HAVING count(*) > 1)",
				"orders without both of its rows": "SELECT count(*) - (SELECT count(*) / 2 FROM effect) FROM events",
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
