package simfs_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/simfs"
)

const anyFile = vfs.OPEN_READWRITE | vfs.OPEN_CREATE | vfs.OPEN_WAL

func newFS(t *testing.T, image simfs.Image) *simfs.FS {
	fs := simfs.New(t.TempDir(), image)
	t.Cleanup(fs.Unregister)
	return fs
}

func open(t *testing.T, fs *simfs.FS, name string) vfs.File {
	t.Helper()
	file, _, err := fs.Open(name, anyFile)
	must(t, err)
	return file
}

func write(t *testing.T, file vfs.File, at int64, data string) {
	t.Helper()
	_, err := file.WriteAt([]byte(data), at)
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outcomes returns what a file may hold after a power cut; "" stands for one
// that is not there.
func outcomes(fs *simfs.FS, name string) map[string]bool {
	found := map[string]bool{}
	for seed := range uint64(300) {
		found[string(fs.Crash(seed)[name])] = true
	}
	return found
}

func TestSyncedChangesSurviveEveryPowerCut(t *testing.T) {
	fs := newFS(t, nil)
	file := open(t, fs, "a")
	write(t, file, 0, "synced")
	must(t, file.Sync(0))
	if got := outcomes(fs, "a"); len(got) != 1 || !got["synced"] {
		t.Errorf("after a power cut the file is one of %q", slices.Collect(maps.Keys(got)))
	}
}

func TestUnsyncedChangesMaySurviveInAnyCombination(t *testing.T) {
	fs := newFS(t, simfs.Image{"a": []byte("......")})
	file := open(t, fs, "a")
	write(t, file, 0, "11")
	write(t, file, 2, "22")
	must(t, file.Truncate(5))
	got := outcomes(fs, "a")
	for _, want := range []string{"......", "11....", "..22..", "1122..", ".....", "11...", "..22.", "1122."} {
		if !got[want] {
			t.Errorf("no power cut left %q", want)
		}
	}
}

func TestALargeWriteIsTornWhereSectorsEnd(t *testing.T) {
	old := bytes.Repeat([]byte("."), 2000)
	fs := newFS(t, simfs.Image{"a": old})
	file := open(t, fs, "a")
	write(t, file, 100, string(bytes.Repeat([]byte("x"), 1500))) // in sectors 0, 1, 2 and 3
	torn := false
	for content := range outcomes(fs, "a") {
		if content[:100] != string(old[:100]) || content[1600:] != string(old[1600:]) {
			t.Fatal("a byte beside the write has changed")
		}
		sector := content[512:1024]
		if sector[0] == 'x' && sector != string(bytes.Repeat([]byte("x"), 512)) {
			t.Fatal("a sector was written in part")
		}
		torn = torn || sector[0] == 'x' && content[1024] == '.'
	}
	if !torn {
		t.Error("no power cut has torn the write")
	}
}

func TestNamesAreDurableOnceTheirFileIsSynced(t *testing.T) {
	fs := newFS(t, simfs.Image{"old": []byte("old")})
	must(t, fs.Delete("old", false))
	if got := outcomes(fs, "old"); !got["old"] || !got[""] {
		t.Error("a deletion that was not synced is either always or never seen")
	}
	file := open(t, fs, "new")
	write(t, file, 0, "new")
	if got := outcomes(fs, "new"); !got["new"] || !got[""] {
		t.Error("a file that was not synced is either always or never there")
	}
	must(t, file.Sync(0))
	if got := outcomes(fs, "new"); got[""] {
		t.Error("a file that was synced may be gone")
	}
	if got := outcomes(fs, "old"); got["old"] {
		t.Error("what happened in the folder before is not durable")
	}
	must(t, fs.Delete("new", true))
	if got := outcomes(fs, "new"); got["new"] {
		t.Error("a deletion that was synced may be undone")
	}
}

func TestNothingWorksAfterThePowerWasCut(t *testing.T) {
	fs := newFS(t, nil)
	file := open(t, fs, "a")
	write(t, file, 0, "first")
	must(t, file.Sync(0))
	fs.CutAfter(2)
	write(t, file, 0, "secon")
	if err := file.Sync(0); err == nil || !fs.Dead() {
		t.Fatal("the power did not fail at the second change")
	}
	if _, err := file.ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("a file can be read without power")
	}
	if _, _, err := fs.Open("b", anyFile); err == nil {
		t.Error("a file can be opened without power")
	}
	if got := outcomes(fs, "a"); !got["first"] || !got["secon"] {
		t.Error("the outcome of the interrupted sync is always the same")
	}
	fs.Heal()
	must(t, file.Sync(0))
	if got := fs.Kill()["a"]; string(got) != "secon" {
		t.Errorf("with the power back the file is %q", got)
	}
}

func TestTheChosenOperationFails(t *testing.T) {
	for name, one := range map[string]struct {
		fault simfs.Fault
		want  string // after three writes of one byte each
		fails []bool
	}{
		"the second, once":       {simfs.Fault{Op: simfs.Write, Nth: 2}, "1\x003", []bool{false, true, false}},
		"from the second on":     {simfs.Fault{Op: simfs.Write, Nth: 2, Sticky: true}, "1", []bool{false, true, true}},
		"up to the limit":        {simfs.Fault{Op: simfs.Write, Nth: 1, Sticky: true, Limit: 2}, "\x00\x003", []bool{true, true, false}},
		"although it was done":   {simfs.Fault{Op: simfs.Write, Nth: 1, Extent: simfs.All}, "123", []bool{true, false, false}},
		"none of another kind":   {simfs.Fault{Op: simfs.Sync | simfs.Read, Nth: 1}, "123", []bool{false, false, false}},
		"on files named so only": {simfs.Fault{Op: simfs.Write, File: "a", Nth: 1}, "\x0023", []bool{true, false, false}},
		"none on other files":    {simfs.Fault{Op: simfs.Write, File: "-wal", Nth: 1}, "123", []bool{false, false, false}},
		"any of the kinds does":  {simfs.Fault{Op: simfs.Changes, Nth: 3}, "12", []bool{false, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			fs := newFS(t, nil)
			file := open(t, fs, "a")
			one.fault.Err = sqlite3.FULL
			fs.Fail(one.fault)
			failed := 0
			for i, fails := range one.fails {
				_, err := file.WriteAt([]byte{"123"[i]}, int64(i))
				if errors.Is(err, sqlite3.FULL) != fails {
					t.Errorf("write %d returned %v", i+1, err)
				}
				if fails {
					failed++
				}
			}
			if got := string(fs.Kill()["a"]); got != one.want {
				t.Errorf("the file is %q, want %q", got, one.want)
			}
			if n := fs.Failures(); n != failed {
				t.Errorf("%d failures are counted, want %d", n, failed)
			}
		})
	}
}

func TestAForgottenWriteIsNotSavedByTheNextSync(t *testing.T) {
	fs := newFS(t, simfs.Image{"a": []byte("..")})
	file := open(t, fs, "a")
	write(t, file, 0, "1")
	fs.Fail(simfs.Fault{Op: simfs.Sync, Nth: 1, Err: sqlite3.IOERR_FSYNC, Forget: true})
	if file.Sync(0) == nil {
		t.Fatal("the sync did not fail")
	}
	write(t, file, 1, "2")
	must(t, file.Sync(0))
	if got := string(fs.Kill()["a"]); got != "12" {
		t.Errorf("the process sees %q", got)
	}
	if got := outcomes(fs, "a"); len(got) != 1 || !got[".2"] {
		t.Errorf("after a power cut the file is one of %q", slices.Collect(maps.Keys(got)))
	}
}

// Whatever is done to a file, a power cut leaves every byte as it was synced
// unless a later change has touched it, and the same seed leaves the same.
func TestAPowerCutTouchesOnlyUnsyncedChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 3000
		fs := simfs.New("", simfs.Image{"a": make([]byte, size)})
		defer fs.Unregister()
		file, _, err := fs.Open("a", anyFile)
		if err != nil {
			t.Fatal(err)
		}
		synced, touched := make([]byte, size), make([]bool, size)
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			if rapid.IntRange(0, 3).Draw(t, "sync") == 0 {
				if err := file.Sync(0); err != nil {
					t.Fatal(err)
				}
				copy(synced, fs.Kill()["a"])
				clear(touched)
				continue
			}
			at := rapid.IntRange(0, size-1).Draw(t, "at")
			n := rapid.IntRange(1, size-at).Draw(t, "n")
			if _, err := file.WriteAt(bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, n), int64(at)); err != nil {
				t.Fatal(err)
			}
			for i := at; i < at+n; i++ {
				touched[i] = true
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		left := fs.Crash(seed)["a"]
		for i := range left {
			if left[i] != synced[i] && !touched[i] {
				t.Fatalf("byte %d was synced as %d and is %d", i, synced[i], left[i])
			}
		}
		if !bytes.Equal(left, fs.Crash(seed)["a"]) {
			t.Fatal("the same seed leaves something else")
		}
	})
}
