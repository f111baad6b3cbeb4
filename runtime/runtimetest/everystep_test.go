package runtimetest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
	"github.com/busgen/busgen/runtime/step"
)

// calls counts what is called, by name.
type calls struct {
	mu sync.Mutex
	of map[string]int
}

func (c *calls) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[name]++
}

// call returns the function of a step that is counted.
func (c *calls) call(name string) func(context.Context) (struct{}, error) {
	return func(context.Context) (struct{}, error) {
		c.add(name)
		return struct{}{}, nil
	}
}

// Each crash calls its own step again if it comes before the storing, and no other.
func TestEveryStepCrashesBeforeAndAfterEachStep(t *testing.T) {
	var runs []map[string]int
	took := map[time.Duration]bool{}
	runtimetest.EveryStep(t, catalogue, func(t *testing.T, k *runtimetest.Kit) {
		var c calls
		began := time.Now()
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, placedType, "fulfil", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				if _, err := step.Do(ctx, "charge", c.call("charge")); err != nil {
					return err
				}
				if err := step.Sleep(ctx, "night", time.Hour); err != nil {
					return err
				}
				_, err := step.Do(ctx, "mail", c.call("mail"))
				return err
			})
			return err
		})
		k.Publish(orderPlaced{Number: 1})
		k.Drain()
		took[time.Since(began).Round(time.Minute)] = true
		runs = append(runs, c.of)
		if dead := k.AllDeadLetters(); len(dead) != 0 {
			t.Errorf("dead: %+v", dead)
		}
	})
	want := []map[string]int{
		{"charge": 1, "mail": 1},
		{"charge": 2, "mail": 1}, {"charge": 1, "mail": 1}, // before and after charge
		{"charge": 1, "mail": 1}, {"charge": 1, "mail": 1}, // the sleep
		{"charge": 1, "mail": 2}, {"charge": 1, "mail": 1},
	}
	if !slices.EqualFunc(runs, want, maps.Equal) {
		t.Errorf("the steps were called\n%v, want\n%v", runs, want)
	}
	if len(took) != 1 || !took[time.Hour] {
		t.Errorf("the runs took %v, want an hour", slices.Collect(maps.Keys(took)))
	}
}

// The rows of a transaction are there once, wherever the crash is, and so is their undo.
func TestEveryStepCrashesInTransactionsAndUndos(t *testing.T) {
	crashed := 0
	runtimetest.EveryStep(t, catalogue, func(t *testing.T, k *runtimetest.Kit) {
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.DB(bus).Exec("CREATE TABLE IF NOT EXISTS rows (n INTEGER)")
			return err
		})
		insert := func(ctx context.Context, tx runtime.Tx, n int) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO rows VALUES (?)", n)
			return err
		}
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, placedType, "fulfil", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				for _, n := range []int{1, 10} {
					_, err := step.TxUndo(ctx, fmt.Sprint("row ", n),
						func(ctx context.Context, tx runtime.Tx) (int, error) { return n, insert(ctx, tx, n) },
						func(ctx context.Context, tx runtime.Tx, n int) error { return insert(ctx, tx, 100*n) })
					if err != nil {
						return err
					}
				}
				return step.Rollback(errBoom)
			})
			return err
		})
		first := k.Bus
		k.Publish(orderPlaced{Number: 1})
		k.Deliver()
		k.Advance(time.Minute)
		if k.Bus != first {
			crashed++
		}
		var rows string
		err := runtime.DB(k.Bus).QueryRow("SELECT group_concat(n, ' ' ORDER BY rowid) FROM rows").Scan(&rows)
		if dead := k.AllDeadLetters(); err != nil || rows != "1 10 1000 100" || len(dead) != 1 || dead[0].Reason != "undone" {
			t.Errorf("rows %s (error %v), dead %+v", rows, err, dead)
		}
	})
	if crashed != 8 { // before and after two steps and two undos
		t.Errorf("%d runs have crashed, want 8", crashed)
	}
}

func ExampleEveryStep() {
	var t *testing.T // of the test
	runtimetest.EveryStep(t, catalogue, func(t *testing.T, kit *runtimetest.Kit) {
		charged := map[string]bool{} // the bank, which knows a call by its key
		kit.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, placedType, "pay", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				_, err := step.Do(ctx, "charge", func(ctx context.Context) (struct{}, error) {
					charged[step.Key(ctx)] = true
					return struct{}{}, nil
				})
				return err
			})
			return err
		})
		kit.Publish(orderPlaced{Number: 1})
		kit.Drain()
		if len(charged) != 1 {
			t.Errorf("the bank has charged %d times", len(charged))
		}
	})
}
