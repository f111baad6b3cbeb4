package sqlite

import (
	"context"
	"errors"
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
