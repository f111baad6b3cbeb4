package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// A large batch ends soon after the limit, and not with its last event.
func TestABatchInATransactionIsInterrupted(t *testing.T) {
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
	must(t, err)
	defer log.Close()
	records := make([]engine.Record, 10*insertStep)
	for i := range records {
		records[i] = engine.Record{ID: uuid.New(), Type: "a.b", Payload: []byte("{}"), CreatedAt: time.Now()}
	}
	inserted := 0
	err = log.Transact(t.Context(), engine.Transaction{Limit: time.Minute, Run: func(tx engine.Tx) error {
		log.writer.conn.UpdateHook(func(sqlite3.AuthorizerActionCode, string, string, int64) {
			if inserted++; inserted == 1 {
				tx.(*run).session.Interrupt()
			}
		})
		return tx.Append(records)
	}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if inserted == 0 || inserted > 2*insertStep {
		t.Errorf("%d events are written", inserted)
	}
}

func TestDeletingAllRowsIsInterrupted(t *testing.T) {
	const rows = 20_000
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
	must(t, err)
	defer log.Close()
	must(t, transact(log, executing(fmt.Sprintf("CREATE TABLE mine (id INTEGER PRIMARY KEY); "+
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) INSERT INTO mine SELECT i FROM n", rows))))
	for how, interrupt := range map[string]func(cancel func(), tx engine.Tx){
		"by its context": func(cancel func(), _ engine.Tx) { cancel() },
		"by the limit":   func(_ func(), tx engine.Tx) { tx.(*run).session.Interrupt() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		deleted := 0
		err = transact(log, func(tx engine.Tx) error {
			log.writer.conn.UpdateHook(func(sqlite3.AuthorizerActionCode, string, string, int64) {
				if deleted++; deleted == 1 {
					interrupt(cancel, tx)
				}
			})
			_, err := tx.ExecContext(ctx, "DELETE FROM mine")
			return err
		})
		if err == nil || deleted == 0 || deleted == rows {
			t.Errorf("%s: after %d rows the error is %v", how, deleted, err)
		}
		log.writer.conn.UpdateHook(nil)
		cancel()
	}
}
