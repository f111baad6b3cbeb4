package output

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// wantFiles compares all files below the current folder.
func wantFiles(t *testing.T, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		got[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestAFailureBetweenRenamesChangesTheOthersBack(t *testing.T) {
	t.Chdir(t.TempDir())
	before := map[string]string{"changed": "old", "gone": "old", "last": "old"}
	write(t, before)
	changed, _ := os.Stat("changed")
	b := newBatch()
	err := errors.Join(b.replace("changed", []byte("new")), b.replace("made/new", []byte("new")), b.remove("gone"), b.replace("last", []byte("new")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(b.changes[3].temporary); err != nil { // what cannot be renamed
		t.Fatal(err)
	}

	err = b.commit()

	if err == nil || !strings.HasPrefix(err.Error(), "last could not be changed: ") || !strings.HasSuffix(err.Error(), "; no file was changed") {
		t.Errorf("got %v", err)
	}
	wantFiles(t, before)
	if now, err := os.Stat("changed"); err != nil || !os.SameFile(now, changed) {
		t.Error("the file that was changed back is another one")
	}
	if _, err := os.Stat("made"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder that was made is still there: %v", err)
	}
}

// The process that is abandoned is another one: nothing is written in it any more.
func TestAnAbandonedProcessLeavesTheFolderAsItWas(t *testing.T) {
	if dir := os.Getenv("EMIT_ABANDON"); dir != "" {
		b := newBatch()
		if err := errors.Join(b.replace(filepath.Join(dir, "a"), []byte("new")), b.replace(filepath.Join(dir, "new", "deep", "b"), []byte("new"))); err != nil {
			t.Fatal(err)
		}
		Abandon()
		late := make(chan error)
		go func() { late <- b.commit() }()
		select {
		case <-late:
			t.Error("files were changed after all")
		case <-time.After(50 * time.Millisecond): // it would not take that long
		}
		return
	}
	t.Chdir(t.TempDir())
	write(t, map[string]string{"a": "old"})
	command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	dir, _ := os.Getwd()
	command.Env = append(os.Environ(), "EMIT_ABANDON="+dir)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	wantFiles(t, map[string]string{"a": "old"})
	if _, err := os.Stat("new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder that was made is still there: %v", err)
	}
}

// dead is the number of a process that has ended.
func dead(t *testing.T) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run", "^$")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(command.Process.Pid)
}

func TestTheNextProcessRemovesFilesThatAKilledOneLeft(t *testing.T) {
	t.Chdir(t.TempDir())
	gone, alive := dead(t), strconv.Itoa(os.Getppid())
	write(t, map[string]string{
		"events/.a.gen.go." + gone + ".busgen-new":  "half",
		"events/.a.gen.go." + gone + ".busgen-old":  "old",
		"events/.b.gen.go." + alive + ".busgen-new": "of a process that runs",
		"events/.c.gen.go." + alive + ".busgen-new": "of a process of another container",
		"events/.swp": "of an editor",
		"events/eventstest/.testkit.gen.go.1" + ".busgen-newer":     "somebody else's",
		"events/eventstest/.testkit.gen.go." + gone + ".busgen-new": "half",
	})
	long := time.Now().Add(-2 * abandonedAfter)
	if err := os.Chtimes("events/.c.gen.go."+alive+".busgen-new", long, long); err != nil {
		t.Fatal(err)
	}
	generated := []File{{Name: "a.gen.go", Content: []byte("a")}, {Name: "eventstest/testkit.gen.go", Content: []byte("kit")}}
	for range 2 { // also if nothing is to be written
		plan, err := Compare("events", generated)
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Apply(); err != nil {
			t.Fatal(err)
		}
	}
	wantFiles(t, map[string]string{
		"events/.b.gen.go." + alive + ".busgen-new": "of a process that runs",
		"events/.swp": "of an editor",
		"events/eventstest/.testkit.gen.go.1" + ".busgen-newer": "somebody else's",
		"events/a.gen.go":                  "a",
		"events/eventstest/testkit.gen.go": "kit",
	})
}
