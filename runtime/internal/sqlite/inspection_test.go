package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestLookingForTheOwnerDoesNotKeepOneFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x-claims")
		looking, err := openLocked(path)
		must(t, err)
		time.AfterFunc(lookTime/2, func() { looking.Close() })
		starting := &claims{path: path}
		must(t, starting.own())
		defer starting.release()
		if err := (&claims{path: path}).own(); !errors.Is(err, errOwned) {
			t.Errorf("a second owner got %v, want errOwned", err)
		}
	})
}

// inspectFile opens a file for an operator.
func inspectFile(t *testing.T, path string) *Inspection {
	t.Helper()
	inspection, err := Engine{}.Inspect(t.Context(), path, "ada")
	must(t, err)
	t.Cleanup(func() { inspection.Close() })
	return inspection.(*Inspection)
}

func TestRemovingASubscriptionForgetsItsClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	ctx := context.Background()
	must(t, log.DeclareConsumers(ctx, []engine.ConsumerSpec{{Name: "old", Pattern: "*"}, {Name: "kept", Pattern: "*"}}))
	must(t, log.Close())
	// What an owner leaves that dies while both are busy.
	content := make([]byte, 6*claimSize)
	claim{subscription: 1, running: 5, highest: 5}.encode(content)
	claim{subscription: 2, running: 6, highest: 6}.encode(content[2*claimSize:])
	claim{subscription: 1, running: 7, highest: 7}.encode(content[4*claimSize:])
	must(t, os.WriteFile(path+"-claims", content, 0o600))

	inspection := inspectFile(t, path)
	if _, err := inspection.RemoveSubscription(ctx, "old"); err != nil {
		t.Fatal(err)
	}
	next := &claims{path: path + "-claims"}
	must(t, next.own())
	defer next.release()
	left, err := next.read()
	if err != nil || len(left) != 1 || left[0] != (claim{subscription: 2, running: 6, highest: 6}) {
		t.Errorf("left are %+v (%v), want that of the other subscription", left, err)
	}
}

func TestAnInterruptedChangeLocksNobodyOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	defer log.Close()
	inspection := inspectFile(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	err = inspection.change(ctx, "change", func(c *conn) error {
		cancel()
		return c.exec("DELETE FROM log")
	})
	if !errors.Is(err, context.Canceled) || !inspection.conn.GetAutocommit() {
		t.Errorf("%v; the transaction has ended: %v", err, inspection.conn.GetAutocommit())
	}
	must(t, log.DeclareTypes(context.Background(), typesNamed("order.placed")))

	// A context that ends when the work is done is too late.
	ctx, cancel = context.WithCancel(context.Background())
	err = inspection.change(ctx, "change", func(c *conn) error {
		defer cancel()
		return c.exec("INSERT INTO types (name, written, version) VALUES ('order.paid', 'order.paid', 1)")
	})
	if n, countErr := inspection.conn.int64("SELECT count(*) FROM types"); err != nil || n != 2 || countErr != nil {
		t.Errorf("%v; there are %d types (%v), want 2", err, n, countErr)
	}
}
