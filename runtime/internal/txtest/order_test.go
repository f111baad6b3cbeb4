package txtest

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// keyed is the payload of an event with a partition key.
type keyed struct {
	Key    int `json:"key"`
	Number int `json:"number"`
}

func (keyed) Validate() error { return nil }

// Of each key one event is handled after the other; with a strict order also when the first attempt of it fails. Those
// of different keys are handled at once.
func TestTransactionalHandlersKeepTheOrderOfEachKey(t *testing.T) {
	const keys, each = 4, 10
	typ := runtime.Define(runtime.Spec[keyed]{
		Name: "money.keyed", Settings: declare.DefaultSettings(), PartitionBy: func(k keyed) string { return string(rune('a' + k.Key)) },
	})
	for i := range 4 {
		atomically, strict := i%2 > 0, i/2 > 0
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			bus, err := runtime.Open(ctx, filepath.Join(t.TempDir(), "events.db"), runtime.NewCatalogue(typ))
			f := &fixture{T: t, Bus: bus}
			f.must(err)
			defer bus.Shutdown(context.Background())
			f.within(func(tx runtime.Tx) {
				_, err := tx.ExecContext(ctx, "CREATE TABLE done (id INTEGER PRIMARY KEY, key INTEGER, number INTEGER)")
				f.must(err)
			})
			var active, most atomic.Int32
			store := func(ctx context.Context, tx runtime.Tx, e runtime.Event[keyed]) error {
				if _, err := tx.ExecContext(ctx, "INSERT INTO done (key, number) VALUES (?, ?)", e.Payload.Key, e.Payload.Number); err != nil {
					return err
				}
				if strict && (e.Payload.Key+e.Payload.Number)%3 == 0 && e.Attempt == 1 {
					return errNoAccount
				}
				return nil
			}
			opts := []runtime.SubscribeOption{runtime.WithConcurrency(keys)}
			if strict {
				opts = append(opts, runtime.WithStrictOrder())
			}
			if atomically {
				_, err = runtime.Subscribe(bus, typ, "done", func(ctx context.Context, e runtime.Event[keyed]) error {
					most.Store(max(most.Load(), active.Add(1)))
					defer active.Add(-1)
					time.Sleep(time.Duration(e.Payload.Key*7+each-e.Payload.Number) * time.Millisecond)
					return runtime.Atomically(ctx, func(tx runtime.Tx) error { return store(ctx, tx, e) })
				}, opts...)
			} else {
				_, err = runtime.SubscribeTx(bus, typ, "done", store, opts...)
			}
			f.must(err)
			for number := range each {
				for key := range keys {
					_, err := runtime.Publish(ctx, bus, typ, keyed{key, number})
					f.must(err)
				}
			}
			f.must(bus.Start(ctx))
			f.must(bus.WaitIdle(ctx))
			f.wantNumber(keys*each, "SELECT count(*) FROM done")
			f.wantNumber(0, "SELECT count(*) FROM done a JOIN done b ON a.key = b.key AND a.id < b.id AND a.number >= b.number")
			if atomically && most.Load() != keys {
				t.Errorf("%d handlers ran at once, want %d", most.Load(), keys)
			}
		})
	}
}
