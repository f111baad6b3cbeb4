package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// What the process knows, its file cannot say: the disk is full.
func TestAStatusSaysWhatKeepsTheProcessFromWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	defer log.Close()
	inspection := inspectFile(t, path)
	says := func(want event.Fault) {
		t.Helper()
		status, err := inspection.Status(t.Context(), 10, event.Status{})
		must(t, err)
		if status.Unwritable != want {
			t.Errorf("the status says %q, want %q", status.Unwritable, want)
		}
	}
	_, err = log.TakeOver(t.Context())
	must(t, err)
	says("")
	for _, fault := range append([]event.Fault{event.Unreachable}, told...) {
		log.faults.Note(&event.StorageError{Fault: fault}, 1)
		log.faults.tell()
		if fault == event.Unreachable {
			fault = event.IO // the claims have no number for it
		}
		says(fault)
		if err, _ := log.cannotWrite(t.Context()); err != nil {
			t.Errorf("nothing can be written: %v", err)
		}
		says("")
	}
	log.faults.Note(&event.StorageError{Fault: event.DiskFull}, 1)
	log.faults.tell()
	must(t, log.Append(t.Context(), []engine.Record{{ID: uuid.Must(uuid.NewV7()), Type: "t", Payload: []byte("{}"), CreatedAt: time.Now()}}))
	says("")

	log.faults.Note(&event.StorageError{Fault: event.DiskFull}, 1)
	log.faults.tell()
	says(event.DiskFull)
	must(t, log.claims.Abandon())
	says("") // a process that has died keeps nobody from writing
}
