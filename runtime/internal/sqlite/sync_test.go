package sqlite

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// countingVFS is the driver's file layer, with the syncs of the WAL counted.
type countingVFS struct {
	vfs.VFS
	syncs atomic.Int64
}

func (v *countingVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := v.VFS.(vfs.VFSFilename).OpenFilename(name, flags)
	if err == nil && strings.HasSuffix(name.String(), "-wal") {
		file = &countingFile{File: file, vfs: v}
	} else if err == nil {
		file = &sharedFile{File: file}
	}
	return file, flags, err
}

type countingFile struct {
	vfs.File
	vfs *countingVFS
}

func (f *countingFile) Sync(flags vfs.SyncFlag) error {
	f.vfs.syncs.Add(1)
	return f.File.Sync(flags)
}

// sharedFile passes on what WAL mode needs of the main file.
type sharedFile struct{ vfs.File }

func (f *sharedFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func TestAnUnsyncedLogLeavesEventsToTheOperatingSystem(t *testing.T) {
	counting := &countingVFS{VFS: vfs.Find("")}
	vfs.Register("counting-unsynced", counting)
	defer vfs.Unregister("counting-unsynced")
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{VFS: "counting-unsynced", Unsynced: true})
	must(t, err)
	defer log.Close()
	record := engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "a.b", Payload: []byte("{}"), CreatedAt: time.Now()}
	must(t, log.Append(t.Context(), []engine.Record{record}))
	before := counting.syncs.Load()
	for range 20 { // some are written by who publishes them, some by the writer's goroutine
		record.ID = uuid.Must(uuid.NewV7())
		must(t, log.Append(t.Context(), []engine.Record{record}))
	}
	if n := counting.syncs.Load() - before; n != 0 {
		t.Errorf("%d syncs, want none", n)
	}
}

func TestAnEventIsSyncedBeforeItIsAcknowledgedAndADispositionIsNot(t *testing.T) {
	counting := &countingVFS{VFS: vfs.Find("")}
	vfs.Register("counting", counting)
	defer vfs.Unregister("counting")
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{VFS: "counting"})
	must(t, err)
	defer log.Close()
	must(t, log.Declare(t.Context(), typesNamed("a.b"), nil))
	consumer, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "reader", Pattern: "a.b"})
	must(t, err)
	if _, err := log.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		before := counting.syncs.Load()
		record := engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "a.b", Payload: []byte("{}"), CreatedAt: time.Now()}
		must(t, log.Append(t.Context(), []engine.Record{record}))
		if counting.syncs.Load() == before {
			t.Error("an event was acknowledged before it was synced")
		}
		before = counting.syncs.Load()
		deliveries, _, err := consumer.Poll(nil, 10)
		must(t, err)
		if len(deliveries) != 1 {
			t.Fatalf("polled %d deliveries, want 1", len(deliveries))
		}
		consumer.Settle(engine.Settled{Delivery: deliveries[0], Disposition: engine.Disposition{Kind: engine.Done}}, nil)
		must(t, log.Flush(t.Context()))
		if n := counting.syncs.Load() - before; n != 0 {
			t.Errorf("a success alone was synced %d times", n)
		}
	}
}
