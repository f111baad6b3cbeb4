package sqlite

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// transact runs a function in a transaction.
func transact(log *Log, f func(tx engine.Tx) error) error {
	return log.Transact(context.Background(), engine.Transaction{Limit: time.Minute, Run: f})
}

// transactTogether runs functions in one transaction, in this order, and returns their errors.
func transactTogether(t *testing.T, log *Log, functions ...func(tx engine.Tx) error) []error {
	t.Helper()
	errs := make([]error, len(functions))
	must(t, transact(log, func(engine.Tx) error {
		for i, f := range functions {
			go func() { errs[i] = transact(log, f) }()
			synctest.Wait() // until it is queued
		}
		return nil
	}))
	synctest.Wait()
	return errs
}

// executing is a function that runs a statement.
func executing(statement string) func(tx engine.Tx) error {
	return func(tx engine.Tx) error {
		_, err := tx.ExecContext(context.Background(), statement)
		return err
	}
}

func TestFunctionsThatWaitForASyncShareTheNextOne(t *testing.T) {
	const n = 128
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		must(t, transact(log, executing("CREATE TABLE one (id INTEGER PRIMARY KEY)")))
		before := disk.Count(simfs.Sync)
		functions := make([]func(tx engine.Tx) error, n)
		for i := range functions {
			functions[i] = executing("INSERT INTO one VALUES (NULL)")
		}
		must(t, errors.Join(transactTogether(t, log, functions...)...))
		if syncs := disk.Count(simfs.Sync) - before; syncs != 1 {
			t.Errorf("%d functions, which waited for another one that wrote nothing, came to %d syncs, want 1", n, syncs)
		}
	})
}

// What a function was refused for was not stored, so nobody is to act on it.
func TestAFunctionThatWasRefusedBesideOthersThatAreNotStoredIsToldSo(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		must(t, transact(log, executing("CREATE TABLE one (id INTEGER PRIMARY KEY)")))
		insert := executing("INSERT INTO one VALUES (1)")
		errs := transactTogether(t, log,
			func(tx engine.Tx) error {
				disk.Fail(simfs.Fault{Op: simfs.Write, Nth: 1, Limit: 1, Err: sqlite3.FULL})
				return insert(tx)
			},
			insert,
		)
		for i, err := range errs {
			var storage *event.StorageError
			if !errors.As(err, &storage) || storage.Fault != event.DiskFull {
				t.Errorf("function %d: the error is %v", i, err)
			}
		}
		must(t, transact(log, insert))
	})
}
