//go:build unix

package systest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func init() { children["crowd"] = crowdChild }

// crowdChild publishes 400 events, of which the last is being handled for ever.
func crowdChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	stuck := make(chan struct{})
	_, err = runtime.Subscribe(bus, PlacedType, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		if e.Payload.Number == 399 {
			close(stuck)
			select {}
		}
		return nil
	})
	check(err)
	check(bus.Start(context.Background()))
	for n := range 400 {
		_, err := runtime.Publish(context.Background(), bus, PlacedType, OrderPlaced{OrderID: "A", Number: n})
		check(err)
	}
	<-stuck
	say("ready")
	select {}
}

// folderOf lists what is in the folder of path, with sizes.
func folderOf(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	Must(t, err)
	var lines []string
	for _, e := range entries {
		info, err := e.Info()
		Must(t, err)
		lines = append(lines, fmt.Sprint(e.Name(), " ", info.Size()))
	}
	return strings.Join(lines, ", ")
}

func TestAWriteAheadLogWithoutItsFileIsRefused(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	for name, takeAway := range map[string]func(path string) error{
		"moved":   func(path string) error { return os.Rename(path, path+".moved") },
		"emptied": func(path string) error { return errors.Join(copyFile(path, path+".moved"), os.Truncate(path, 0)) },
		"moved, with its write-ahead log": func(path string) error {
			return errors.Join(os.Rename(path, path+".moved"), os.Rename(path+"-wal", path+".moved-wal"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.db")
			owner := running(t, "crowd", path)
			Must(t, owner.Process.Kill())
			owner.Wait()
			Must(t, takeAway(path))
			before := folderOf(t, path)
			refused := func(what string, err error) {
				t.Helper()
				var storage *event.StorageError
				if !errors.As(err, &storage) || storage.Fault != event.Incomplete || !strings.Contains(storage.Hint, "bring") {
					t.Errorf("%s returned %v, want that the file is incomplete", what, err)
				}
				if after := folderOf(t, path); after != before {
					t.Errorf("%s: the folder has %s, and before %s", what, after, before)
				}
			}
			_, err := runtime.Open(t.Context(), path, Catalogue)
			refused("Open", err)
			_, err = inspect.Open(t.Context(), path)
			refused("inspect.Open", err)
			_, err = inspect.Open(t.Context(), path)
			refused("inspect.Open", err)

			Must(t, os.Rename(path+".moved", path))
			if err := os.Rename(path+".moved-wal", path+"-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			f := SQLite.Reopen(t, path)
			if got := queryFile(t, f.Path, "SELECT count(*) FROM events"); got != "400" {
				t.Errorf("the file has %s events when it is back, want all 400", got)
			}
			f.MustStart()
			if got := f.Stats().Recovery.Interrupted; got != 1 {
				t.Errorf("%d attempts are known to have been interrupted, want 1", got)
			}
		})
	}
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// To start over, it is enough to delete the database file after a clean end.
func TestAFileThatIsDeletedAfterACleanEndBeginsAnew(t *testing.T) {
	f := SQLite.Open(t)
	f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
	f.MustStart()
	f.Publish(1)
	f.Idle()
	f.Stop()
	Must(t, os.Remove(f.Path))
	again := SQLite.Reopen(t, f.Path)
	if got := queryFile(t, again.Path, "SELECT count(*) FROM events"); got != "0" {
		t.Errorf("the new file has %s events", got)
	}
}

const nobody = 65534

// asNobody starts a child as another user.
func asNobody(t *testing.T, mode, path string) (lines []string) {
	t.Helper()
	cmd := exec.Command(binaryOfAll(t))
	cmd.Env = append(os.Environ(), childMode+"="+mode, childFile+"="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: false}}
	stdout, err := cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	cmd.Wait()
	return lines
}

// binaryOfAll returns a copy of this test that every user can run.
func binaryOfAll(t *testing.T) string {
	t.Helper()
	folder := folderOfNobody(t)
	path := filepath.Join(folder, "test")
	Must(t, copyFile(os.Args[0], path))
	Must(t, os.Chmod(path, 0o755))
	return path
}

// folderOfNobody makes a folder that another user can write to.
func folderOfNobody(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "nobody") // not t.TempDir, which others may not enter
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	Must(t, os.Chown(folder, nobody, nobody))
	return folder
}

func init() { children["shopkeeper"] = shopkeeperChild }

// shopkeeperChild publishes and handles one event.
func shopkeeperChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
	check(err)
	_, err = runtime.Publish(context.Background(), bus, PlacedType, OrderPlaced{OrderID: "A"})
	check(err)
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
}

func TestFilesThatRootMakesBesideAFileBelongToItsOwner(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	if os.Geteuid() != 0 {
		t.Skip("only root can act for another user")
	}
	for _, mode := range []os.FileMode{0o600, 0o640, 0o664} {
		t.Run(mode.String(), func(t *testing.T) {
			path := filepath.Join(folderOfNobody(t), "events.db")
			if lines := asNobody(t, "shopkeeper", path); len(lines) != 1 || lines[0] != "finished" {
				t.Fatalf("the service says %q", lines)
			}
			Must(t, os.Chmod(path, mode))
			// As "busgen subscriptions remove" and a program that is started by mistake.
			Must(t, os.Remove(path+"-claims"))
			root := running(t, "owner", path)
			for _, suffix := range []string{"-wal", "-shm", "-claims"} {
				info, err := os.Lstat(path + suffix)
				Must(t, err)
				stat := info.Sys().(*syscall.Stat_t)
				if stat.Uid != nobody || stat.Gid != nobody || info.Mode() != mode {
					t.Errorf("%s is of user %d, group %d, and has %v; want %d and %v", suffix, stat.Uid, stat.Gid, info.Mode(), nobody, mode)
				}
			}
			Must(t, root.Process.Kill())
			root.Wait()
			if lines := asNobody(t, "shopkeeper", path); len(lines) != 1 || lines[0] != "finished" {
				t.Errorf("after root has looked at the file the service says %q", lines)
			}
		})
	}
}

// A user who may write to the folder must not make root cut a file of root's.
func TestClaimsThatAreALinkAreRefused(t *testing.T) {
	f := SQLite.Open(t)
	precious := filepath.Join(t.TempDir(), "precious")
	Must(t, os.WriteFile(precious, []byte("precious"), 0o600))
	Must(t, os.Symlink(precious, f.Path+"-claims"))
	var storage *event.StorageError
	if err := f.Start(t.Context()); !errors.As(err, &storage) || storage.Fault != event.IO {
		t.Errorf("Start returned %v, want that the claims are no plain file", err)
	}
	if content, err := os.ReadFile(precious); string(content) != "precious" {
		t.Errorf("what the link leads to is %q (%v)", content, err)
	}
}
