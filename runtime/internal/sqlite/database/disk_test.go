package database

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// abilities are what the driver may find that a file can do.
var abilities = []reflect.Type{
	reflect.TypeFor[vfs.FileLockState](), reflect.TypeFor[vfs.FilePersistWAL](), reflect.TypeFor[vfs.FilePowersafeOverwrite](),
	reflect.TypeFor[vfs.FileChunkSize](), reflect.TypeFor[vfs.FileSizeHint](), reflect.TypeFor[vfs.FileHasMoved](),
	reflect.TypeFor[vfs.FileOverwrite](), reflect.TypeFor[vfs.FileSync](), reflect.TypeFor[vfs.FileCommitPhaseTwo](),
	reflect.TypeFor[vfs.FileBatchAtomicWrite](), reflect.TypeFor[vfs.FileCheckpoint](), reflect.TypeFor[vfs.FilePragma](),
	reflect.TypeFor[vfs.FileBusyHandler](), reflect.TypeFor[vfs.FileSharedMemory](), reflect.TypeFor[vfs.FileMemoryMapper](),
}

// What a file of the driver can do and ours does not pass on is lost without a
// word, in a later version of the driver too.
func TestNoAbilityOfADriversFileIsLost(t *testing.T) {
	seen := &witness{VFS: vfs.Find("")}
	vfs.Register("witness", seen)
	defer vfs.Unregister("witness")
	c, err := Connect(filepath.Join(t.TempDir(), "events.db"), "witness", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	must(t, err)
	defer c.Close()
	const setup = "PRAGMA journal_mode=WAL; CREATE TABLE t (x)"
	must(t, c.ExecScript(setup))
	if len(seen.files) < 2 {
		t.Fatalf("%d files were opened", len(seen.files))
	}
	for _, file := range seen.files {
		for _, ability := range abilities {
			if reflect.TypeOf(file).Implements(ability) && !reflect.TypeFor[*diskFile]().Implements(ability) {
				t.Errorf("%T is a %v, and what is in front of it is not", file, ability)
			}
		}
	}

	plain, err := sqlite3.Open(filepath.Join(t.TempDir(), "plain.db"))
	must(t, err)
	defer plain.Close()
	must(t, plain.Exec(setup))
	for _, pragma := range []string{"mmap_size=1048576", "mmap_size", "journal_mode", "synchronous", "locking_mode"} {
		got, want := pragmaOf(t, c.Conn, pragma), pragmaOf(t, plain, pragma)
		if got != want {
			t.Errorf("PRAGMA %s is %q, and without our layer %q", pragma, got, want)
		}
	}
}

func pragmaOf(t *testing.T, c *sqlite3.Conn, pragma string) (value string) {
	t.Helper()
	s, _, err := c.Prepare("PRAGMA " + pragma)
	must(t, err)
	defer s.Close()
	for s.Step() {
		value += s.ColumnText(0)
	}
	must(t, s.Err())
	return value
}

// witness remembers the files that were opened.
type witness struct {
	vfs.VFS
	files []vfs.File
}

func (w *witness) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := w.VFS.(vfs.VFSFilename).OpenFilename(name, flags)
	w.files = append(w.files, file)
	return file, flags, err
}

// Whoever only looks creates nothing, not even to find out why something failed.
func TestInspectingDoesNotCheckForFreeSpace(t *testing.T) {
	for _, looking := range []bool{true, false} {
		folder := t.TempDir()
		long := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(folder, long, long))
		d := &disk{path: filepath.Join(folder, "events.db"), looking: looking}
		d.explain(sqlite3.IOERR_SHMSIZE)
		info, err := os.Stat(folder)
		must(t, err)
		if changed := info.ModTime().Sub(long) > time.Minute; changed == looking {
			t.Errorf("looking=%v: a file was created: %v", looking, changed)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
			t.Errorf("looking=%v: left behind: %v, %v", looking, left, err)
		}
	}
}
