package systest

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func init() { children["wanderer"] = wandererChild }

// running starts a child that lives until the test ends, and returns once it is
// ready.
func running(t *testing.T, mode, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childFile+"="+path)
	stdout, err := cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if scanner := bufio.NewScanner(stdout); !scanner.Scan() || scanner.Text() != "ready" {
		t.Fatalf("the child says %q, want that it is ready", scanner.Text())
	}
	return cmd
}

// link makes a symbolic link in a folder of its own.
func link(t *testing.T, target string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(target, path); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	return path
}

func TestOneProcessDispatchesFromAFileWhateverItIsCalled(t *testing.T) {
	for name, one := range map[string]struct {
		mode  string
		owner func(path string) string // what the owner opens
		other func(path string) string // what everybody else does
		then  func(path string)        // what happens when the owner runs
	}{
		"the other uses a link":                 {other: func(path string) string { return link(t, path) }},
		"the owner uses a link":                 {owner: func(path string) string { return link(t, path) }},
		"a link to a folder":                    {other: func(path string) string { return filepath.Join(link(t, filepath.Dir(path)), filepath.Base(path)) }},
		"the owner has moved to another folder": {mode: "wanderer"},
		"the claims are deleted":                {then: func(path string) { Must(t, os.Remove(path+"-claims")) }},
		"the claims are replaced": {then: func(path string) {
			Must(t, os.Rename(path+"-claims", path+"-old"))
			Must(t, os.WriteFile(path+"-claims", nil, 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.db")
			f := SQLite.Reopen(t, path)
			f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
			f.Stop()
			mine, others := path, path
			if one.owner != nil {
				mine = one.owner(path)
			}
			if one.other != nil {
				others = one.other(path)
			}
			if one.mode == "" {
				one.mode = "owner"
			}
			owner := running(t, one.mode, mine)
			if one.then != nil {
				one.then(path)
			}
			wrong := func(what string, err error) {
				t.Helper()
				var owned *event.OwnedError
				if !errors.Is(err, event.ErrAlreadyRunning) || !errors.As(err, &owned) || owned.PID != owner.Process.Pid {
					t.Errorf("%s returned %v, want that process %d dispatches", what, err, owner.Process.Pid)
				}
			}
			second := SQLite.Reopen(t, others)
			wrong("Start", second.Start(t.Context()))
			file, err := inspect.Open(t.Context(), others)
			Must(t, err)
			defer file.Close()
			status, err := file.Status(t.Context())
			Must(t, err)
			if !status.Owner.Alive || status.Owner.PID != owner.Process.Pid {
				t.Errorf("the status says of the owner %+v", status.Owner)
			}
			_, err = file.RemoveSubscription(t.Context(), "reader")
			wrong("Remove", err)

			Must(t, owner.Process.Kill())
			owner.Wait()
			Must(t, second.Start(t.Context()))
		})
	}
}

func TestTwoBusesOfOneProcessExcludeEachOtherWhateverTheFileIsCalled(t *testing.T) {
	f := SQLite.Open(t)
	f.MustStart()
	other := SQLite.Reopen(t, link(t, f.Path))
	if err := other.Start(t.Context()); !errors.Is(err, event.ErrAlreadyRunning) {
		t.Errorf("a second Start returned %v", err)
	}
	f.Stop()
	Must(t, other.Start(t.Context()))
}

// Files beside the database are named after it, not after a link to it.
func TestALinkToAFileThatDoesNotExistYetIsFollowed(t *testing.T) {
	folder := t.TempDir()
	path := link(t, filepath.Join(folder, "events.db"))
	f := SQLite.Reopen(t, path)
	f.Publish(1)
	f.MustStart()
	for _, suffix := range []string{"", "-wal", "-claims"} {
		if _, err := os.Stat(filepath.Join(folder, "events.db"+suffix)); err != nil {
			t.Error(err)
		}
	}
	beside, err := os.ReadDir(filepath.Dir(path))
	Must(t, err)
	if len(beside) != 1 {
		t.Errorf("beside the link are %v, want nothing", beside)
	}
	circle := filepath.Join(folder, "circle")
	Must(t, os.Symlink(circle, circle))
	_, err = runtime.Open(t.Context(), circle, Catalogue)
	var storage *event.StorageError
	if !errors.As(err, &storage) {
		t.Errorf("Open of a link to itself returned %v, want a *StorageError", err)
	}
}

// refusedNames checks that nothing can be opened by a name, and that nothing was
// made beside it.
func refusedNames(t *testing.T, path string, words string) {
	t.Helper()
	before, err := os.ReadDir(filepath.Dir(path))
	Must(t, err)
	check := func(what string, err error) {
		t.Helper()
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Fault != event.Linked || !strings.Contains(err.Error(), words) {
			t.Errorf("%s of %s returned %v, want %q and %q", what, path, err, event.Linked, words)
		}
	}
	_, err = runtime.Open(t.Context(), path, Catalogue)
	check("Open", err)
	_, err = inspect.Open(t.Context(), path)
	check("inspect.Open", err)
	_, err = inspect.Open(t.Context(), path)
	check("inspect.Open", err)
	after, err := os.ReadDir(filepath.Dir(path))
	Must(t, err)
	if len(before) != len(after) {
		t.Errorf("beside %s are %v, and %v before", path, after, before)
	}
}

func TestAFileWithASecondHardLinkIsRefused(t *testing.T) {
	f := SQLite.Open(t)
	f.Publish(1)
	f.Stop()
	second := filepath.Join(t.TempDir(), "second.db")
	if err := os.Link(f.Path, second); err != nil {
		t.Skip("no hard links here: ", err)
	}
	refusedNames(t, second, "2 hard links")
	refusedNames(t, f.Path, "2 hard links")
	refusedNames(t, link(t, second), "2 hard links")
	Must(t, os.Remove(second))
	SQLite.Reopen(t, f.Path)
}

func TestAFileThatIsMountedByItselfIsRefused(t *testing.T) {
	f := SQLite.Open(t)
	f.Publish(1)
	f.Stop()
	point := filepath.Join(t.TempDir(), "mounted.db")
	Must(t, os.WriteFile(point, nil, 0o600))
	if out, err := exec.Command("mount", "--bind", f.Path, point).CombinedOutput(); err != nil {
		t.Skipf("no bind mounts here: %v: %s", err, out)
	}
	defer exec.Command("umount", point).Run()
	refusedNames(t, point, "mount its folder")

	// Its folder can be mounted: the files beside it are then the same ones.
	folder := t.TempDir()
	if out, err := exec.Command("mount", "--bind", filepath.Dir(f.Path), folder).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	defer exec.Command("umount", "-l", folder).Run()
	owner := running(t, "owner", filepath.Join(folder, filepath.Base(f.Path)))
	here := SQLite.Reopen(t, f.Path)
	if err := here.Start(t.Context()); !errors.Is(err, event.ErrAlreadyRunning) {
		t.Errorf("beside an owner that has the folder mounted elsewhere, Start returned %v", err)
	}
	Must(t, owner.Process.Kill())
	owner.Wait()
	here.Stop()
}
