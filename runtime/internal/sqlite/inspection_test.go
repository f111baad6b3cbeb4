package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

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
	must(t, log.Declare(ctx, nil, []engine.ConsumerSpec{{Name: "old", Pattern: "*"}, {Name: "kept", Pattern: "*"}}))
	must(t, log.Close())
	// What an owner leaves that dies while both are busy.
	leaveClaims(t, path, 0, func(left *claims.File) {
		left.Begin(left.Reserve(), 1, 5, 5, 0)
		left.Begin(left.Reserve(), 2, 6, 6, 0)
		left.Begin(left.Reserve(), 1, 7, 7, 0)
	})

	inspection := inspectFile(t, path)
	if _, err := inspection.RemoveConsumer(ctx, "old", "ada"); err != nil {
		t.Fatal(err)
	}
	left, _ := claims.Left(path + "-claims")
	if len(left) != 1 || left[0].Subscription != 2 || left[0].Running != 6 || left[0].Highest != 6 {
		t.Errorf("left are %+v, want that of the other subscription", left)
	}
}

func TestAnInterruptedChangeLocksNobodyOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	defer log.Close()
	inspection := inspectFile(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	err = inspection.change(ctx, "change", func(c *database.Conn) error {
		cancel()
		return c.Exec("DELETE FROM busgen_log")
	})
	if !errors.Is(err, context.Canceled) || !inspection.Conn.GetAutocommit() {
		t.Errorf("%v; the transaction has ended: %v", err, inspection.Conn.GetAutocommit())
	}
	must(t, log.Declare(context.Background(), typesNamed("order.placed"), nil))

	// A context that ends when the work is done is too late.
	ctx, cancel = context.WithCancel(context.Background())
	err = inspection.change(ctx, "change", func(c *database.Conn) error {
		defer cancel()
		return c.Exec("INSERT INTO busgen_types (name, written, version) VALUES ('order.paid', 'order.paid', 1)")
	})
	if n, countErr := inspection.Conn.Int64("SELECT count(*) FROM busgen_types"); err != nil || n != 2 || countErr != nil {
		t.Errorf("%v; there are %d types (%v), want 2", err, n, countErr)
	}
}

// Whoever closes does not wait until a long search has come to its end.
func TestCloseInterruptsWhoeverReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	defer log.Close()
	inspection := inspectFile(t, path)
	reads, ended := make(chan bool), make(chan error)
	go func() {
		ended <- inspection.look(context.Background(), "count", func(c *database.Conn) error {
			close(reads)
			_, err := c.Int64("WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT count(*) FROM n") // has no end
			return err
		})
	}()
	<-reads
	must(t, inspection.Close())
	if err := <-ended; !errors.Is(err, engine.ErrClosed) {
		t.Errorf("whoever read got %v", err)
	}
	if err := inspection.look(t.Context(), "count", func(*database.Conn) error { return nil }); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("whoever reads later gets %v", err)
	}
}
