package runtime_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/simfs"
	durable "github.com/busgen/busgen/runtime/step"
)

type backorder struct {
	Order string `json:"order"`
}

func (backorder) Validate() error { return nil }

type scan struct {
	Order string `json:"order"`
}

func (scan) Validate() error { return nil }

var (
	backorderType = runtime.Define(runtime.Spec[backorder]{Name: "order.backordered", Settings: declare.DefaultSettings()})
	scanType      = runtime.Define(runtime.Spec[scan]{Name: "parcel.scanned", Settings: declare.DefaultSettings(), AwaitBy: []string{"order"}})
	backorders    = runtime.NewCatalogue(backorderType, scanType)
)

// flow reserves, charges, waits for a parcel some minutes at most, ships and mails, or undoes it all. It notes what is done outside.
type flow struct {
	*testing.T
	did    []string        // outside of the file, in its order
	stored map[string]bool // what must not begin again, because its step has returned
}

// outside does something outside of the file.
func (f *flow) outside(what string) {
	f.did = append(f.did, what)
	if f.stored[what] {
		f.Errorf("%s begins again after its step has returned: %v", what, f.did)
	}
}

func (f *flow) returned(what string) {
	if slices.Contains(f.did, what) {
		f.stored[what] = true
	}
}

func (f *flow) handle(ctx context.Context, _ runtime.Event[backorder]) error {
	row := func(what string) func(context.Context, runtime.Tx) (bool, error) {
		return func(ctx context.Context, tx runtime.Tx) (bool, error) {
			_, err := tx.ExecContext(ctx, "INSERT INTO did (what) VALUES (?)", what)
			return true, err
		}
	}
	if _, err := durable.TxUndo(ctx, "reserve", row("reserve"), func(ctx context.Context, tx runtime.Tx, _ bool) error {
		f.returned("refund") // the newest is undone first
		_, err := row("release")(ctx, tx)
		return err
	}); err != nil {
		return err
	}
	if _, err := durable.DoUndo(ctx, "charge", func(context.Context) (bool, error) {
		f.outside("charge")
		return true, nil
	}, func(context.Context, bool) error {
		f.outside("refund")
		return nil
	}); err != nil {
		return err
	}
	f.returned("charge")
	if _, err := durable.Await(ctx, "parcel", scanType, "7", 3*time.Minute); errors.Is(err, durable.ErrNoEvent) {
		return durable.Rollback(err)
	} else if err != nil {
		return err
	}
	if _, err := durable.Tx(ctx, "ship", row("ship")); err != nil {
		return err
	}
	_, err := durable.Do(ctx, "mail", func(context.Context) (bool, error) {
		f.outside("mail")
		return true, nil
	})
	if err == nil {
		f.returned("mail")
	}
	return err
}

// The power fails at each change of the disk, while an order with undoing is shipped, and while one is given up.
func TestAnOrderIsShippedOrUndoneOnceOverPowerCuts(t *testing.T) {
	every, seeds := 1, uint64(2)
	if testing.Short() {
		every, seeds = 3, 1
	}
	for name, comes := range map[string]bool{"the parcel comes": true, "no parcel comes": false} {
		t.Run(name, func(t *testing.T) {
			for cut, survived := 1, false; !survived && !t.Failed(); cut += every {
				for seed := range seeds {
					synctest.Test(t, func(t *testing.T) { survived = powerCut(t, cut, seed, comes) })
				}
			}
		})
	}
}

// powerCut cuts the power at a change of the disk, and reports whether there were fewer changes.
func powerCut(t *testing.T, cut int, seed uint64, comes bool) (survived bool) {
	f := &flow{T: t, stored: map[string]bool{}}
	path := filepath.Join(t.TempDir(), "shop.db")
	disk := simfs.New(filepath.Dir(path), nil)
	open := func() *runtime.Bus {
		bus, err := runtime.OpenOn(t.Context(), disk.Name(), path, filepath.Join(t.TempDir(), "other.db"), backorders)
		conformance.Must(t, err)
		conformance.Must(t, runtime.Transact(t.Context(), bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS did (what TEXT)")
			return err
		}))
		_, err = runtime.Subscribe(bus, backorderType, "fulfil", f.handle)
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(t.Context()))
		return bus
	}
	placed, scanned := false, !comes
	publish := func(bus *runtime.Bus) (err error) {
		if !placed {
			_, err = runtime.Publish(t.Context(), bus, backorderType, backorder{"7"}, runtime.WithDedupeKey("7"))
			placed = err == nil
			time.Sleep(time.Minute)
		}
		if placed && !scanned {
			_, err = runtime.Publish(t.Context(), bus, scanType, scan{"7"}, runtime.WithDedupeKey("7"))
			scanned = err == nil
		}
		return err
	}
	live := func(bus *runtime.Bus) (err error) {
		err = publish(bus)
		for t := time.Now(); !disk.Dead() && time.Since(t) < 4*time.Minute; {
			time.Sleep(time.Second)
		}
		return err
	}
	bus := open()
	disk.CutAfter(cut)
	err := live(bus)
	if survived = !disk.Dead(); !survived {
		synctest.Wait()
		image := disk.Crash(seed)
		f = &flow{T: t, did: slices.Clone(f.did), stored: maps.Clone(f.stored)} // what the first program does now was never done
		disk.Heal()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		bus.Shutdown(over)
		disk.Unregister()
		conformance.Must(t, os.RemoveAll(path+"-claims")) // nothing orders it before the disk's changes
		disk = simfs.New(filepath.Dir(path), image)
		bus = open()
		err = live(bus)
	}
	conformance.Must(t, err)
	defer disk.Unregister()
	defer bus.Shutdown(context.Background())
	conformance.Must(t, bus.WaitIdle(t.Context()))
	want, outside, reason := []string{"reserve", "ship"}, []string{"charge", "mail"}, ""
	if !comes {
		want, outside, reason = []string{"reserve", "release"}, []string{"charge", "refund"}, "undone"
	}
	var rows []string
	all, err := runtime.DB(bus).QueryContext(t.Context(), "SELECT what FROM did ORDER BY rowid")
	conformance.Must(t, err)
	defer all.Close()
	for all.Next() {
		rows = append(rows, "")
		conformance.Must(t, all.Scan(&rows[len(rows)-1]))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("cut %d, seed %d: there are rows of %v, want %v", cut, seed, rows, want)
	}
	if !slices.Equal(slices.Compact(slices.Clone(f.did)), outside) {
		t.Errorf("cut %d, seed %d: outside %v was done, want %v, each once or again", cut, seed, f.did, outside)
	}
	var got string
	conformance.Must(t, runtime.DB(bus).QueryRowContext(t.Context(), "SELECT coalesce(group_concat(reason), '') FROM busgen_deliveries WHERE state = 'dead'").Scan(&got))
	if got != reason {
		t.Errorf("cut %d, seed %d: the dead letters have reason %q, want %q", cut, seed, got, reason)
	}
	return survived
}
