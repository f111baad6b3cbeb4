package systest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// An inspection that only looks changes nothing and needs no permission to write.

// lookAt does everything that looks, and returns how many events, letters and rows
// of the audit it has seen.
func lookAt(path string) (seen string, err error) {
	ctx := context.Background()
	file, err := inspect.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return lookAgain(ctx, file)
}

func lookAgain(ctx context.Context, file *inspect.File) (seen string, err error) {
	status, err := file.Status(ctx)
	if err != nil {
		return "", fmt.Errorf("status: %w", err)
	}
	events, _, err := file.Events(ctx, event.Filter{}, event.Page{Limit: 100_000})
	if err != nil || len(events) == 0 {
		return "", fmt.Errorf("events: %d, %w", len(events), err)
	}
	if _, err := file.Event(ctx, events[0].ID); err != nil {
		return "", fmt.Errorf("event: %w", err)
	}
	if _, err := file.Subscriptions(ctx); err != nil {
		return "", fmt.Errorf("subscriptions: %w", err)
	}
	report, err := file.Check(ctx, nil)
	if err != nil || !report.OK() {
		return "", fmt.Errorf("check: %+v, %w", report, err)
	}
	letters, _, err := file.DeadLetters(ctx, event.Filter{}, event.Page{})
	if err != nil || len(letters) == 0 {
		return "", fmt.Errorf("list: %d, %w", len(letters), err)
	}
	if _, err := file.DeadLetter(ctx, letters[0].Key); err != nil {
		return "", fmt.Errorf("get: %w", err)
	}
	groups, err := file.FailureGroups(ctx, event.Filter{})
	if err != nil {
		return "", fmt.Errorf("groups: %w", err)
	}
	n, err := file.Export(ctx, io.Discard, event.Filter{})
	if err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	if _, _, err := file.Audit(ctx, event.AuditFilter{}, event.Page{}); err != nil {
		return "", fmt.Errorf("audit: %w", err)
	}
	return fmt.Sprintf("%d events, %d letters, %d groups, dispatching %v", len(events), n, len(groups), status.Owner.Alive), nil
}

// killed returns the folder of a file whose process was killed, and the file.
func killed(t *testing.T, folder string) (path string) {
	t.Helper()
	path = filepath.Join(folder, "events.db")
	child(t, "killed", path, time.Millisecond)
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("the process left no write-ahead log: %v", err)
	}
	return path
}

func init() { children["killed"] = killedChild }

// killedChild leaves 20 events, one of them dead, and waits to be killed.
func killedChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		if e.Payload.Number == 7 {
			return runtime.Permanent(ErrBoom)
		}
		return nil
	})
	check(err)
	check(bus.Start(context.Background()))
	for n := range 20 {
		_, err := runtime.Publish(context.Background(), bus, PlacedType, OrderPlaced{OrderID: "A", Number: n})
		check(err)
	}
	check(bus.WaitIdle(context.Background()))
	say("ready")
	select {}
}

// contents reads all files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	Must(t, err)
	found := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		Must(t, err)
		info, err := entry.Info()
		Must(t, err)
		found[entry.Name()] = fmt.Sprint(info.ModTime(), info.Mode()) + string(content)
	}
	return found
}

// as runs f with the rights of another user.
func as(t *testing.T, uid int, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("this needs to be root, to become somebody else")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		goruntime.LockOSThread() // for ever: the thread ends with the goroutine
		syscall.RawSyscall(syscall.SYS_SETFSGID, uintptr(uid), 0, 0)
		syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0)
		f()
	}()
	<-done
}

func TestInspectingChangesNoByte(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	const all = "20 events, 1 letters, 1 groups, dispatching false"
	for name, prepare := range map[string]func(t *testing.T, path string){
		"a process was killed":                       func(*testing.T, string) {},
		"a process was killed, the index is missing": func(t *testing.T, path string) { Must(t, os.Remove(path+"-shm")) },
		"the program was ended": func(t *testing.T, path string) {
			f := SQLite.Reopen(t, path)
			f.Stop()
			if _, err := os.Stat(path + "-wal"); err == nil {
				t.Fatal("there still is a write-ahead log")
			}
		},
	} {
		for _, user := range []string{"root", "nobody"} {
			for _, place := range []string{"a folder", "a read-only file system"} {
				t.Run(name+", "+user+", "+place, func(t *testing.T) {
					folder := t.TempDir()
					if place == "a read-only file system" {
						folder = mounted(t, "tmpfs", "tmpfs", 0, "size=12m")
					}
					prepare(t, killed(t, folder))
					for at := folder; at != os.TempDir(); at = filepath.Dir(at) {
						Must(t, os.Chmod(at, 0o755))
					}
					if place == "a read-only file system" {
						Must(t, syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=12m"))
					}
					before := contents(t, folder)
					var seen string
					var err error
					if user == "root" {
						seen, err = lookAt(filepath.Join(folder, "events.db"))
					} else {
						as(t, nobody, func() { seen, err = lookAt(filepath.Join(folder, "events.db")) })
					}
					if err != nil || seen != all {
						t.Errorf("it has seen %q, %v; want %q", seen, err, all)
					}
					if diff := cmp.Diff(before, contents(t, folder)); diff != "" {
						t.Errorf("it has changed the files:\n%.500s", diff)
					}
				})
			}
		}
	}
}

func TestInspectingBesideARunningProgramShowsNewEvents(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	for _, user := range []string{"root", "nobody"} {
		t.Run(user, func(t *testing.T) {
			folder := t.TempDir()
			path := killed(t, folder)
			for at := folder; at != os.TempDir(); at = filepath.Dir(at) {
				Must(t, os.Chmod(at, 0o755))
			}
			run := func(f func()) { f() }
			if user == "nobody" {
				run = func(f func()) { as(t, nobody, f) }
			}
			var file *inspect.File
			check := func(when, want string) {
				t.Helper()
				run(func() {
					var err error
					if file == nil {
						if file, err = inspect.Open(context.Background(), path); err != nil {
							t.Errorf("%s: %v", when, err)
							return
						}
					}
					if seen, err := lookAgain(context.Background(), file); err != nil || seen != want {
						t.Errorf("%s it has seen %q, %v; want %q", when, seen, err, want)
					}
				})
			}
			check("before the program starts", "20 events, 1 letters, 1 groups, dispatching false")
			f := SQLite.Reopen(t, path)
			check("when the program has opened the file", "20 events, 1 letters, 1 groups, dispatching false")
			f.MustStart()
			f.Publish(1, 2)
			check("when it dispatches", "22 events, 1 letters, 1 groups, dispatching true")
			for n := range 1500 { // through checkpoints
				f.Publish(n)
			}
			f.Publish(3)
			check("when it has published much", "1523 events, 1 letters, 1 groups, dispatching true")
			f.Stop()
			check("when it has ended", "1523 events, 1 letters, 1 groups, dispatching false")
			f = SQLite.Reopen(t, path)
			f.Publish(4)
			check("when it has started again", "1524 events, 1 letters, 1 groups, dispatching false")
			f.Stop()
			Must(t, file.Close())
			check = nil
		})
	}
}

// A program that starts during a look, and moves its write-ahead log into the
// database, takes from under the look what it was about to read.
func TestAFileThatIsRewrittenDuringALookIsNotMisread(t *testing.T) {
	path := killed(t, t.TempDir())
	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer file.Close()
	started := false
	report, err := file.Check(t.Context(), func(event.Unsettled) error {
		if !started {
			started = true
			f := SQLite.Reopen(t, path)
			for n := range 100 {
				f.Publish(n)
			}
			f.Stop()
		}
		return nil
	})
	var storage *event.StorageError
	if !started || !errors.As(err, &storage) || storage.Fault != event.Busy || !strings.Contains(storage.Hint, "try again") {
		t.Errorf("the check returned %+v, %v", report, err)
	}
	if report, err = file.Check(t.Context(), nil); err != nil || !report.OK() {
		t.Errorf("checked again: %+v, %v", report, err)
	}
}

// The first change opens the file for writing, and not before.
func TestAChangeAfterALookIsMadeAndSeen(t *testing.T) {
	folder := t.TempDir()
	path := killed(t, folder)
	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	before := contents(t, folder)
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	if diff := cmp.Diff(before, contents(t, folder)); diff != "" {
		t.Errorf("listing has changed the files")
	}
	_, err = file.DiscardDeadLetters(t.Context(), inspect.Only(letters[0].Key), "a test")
	Must(t, err)
	if n, err := file.CountDeadLetters(t.Context(), event.Filter{}); err != nil || n != 0 {
		t.Errorf("%d letters are left, %v", n, err)
	}
	Must(t, file.Close())
	if got := queryFile(t, path, "SELECT count(*) FROM dead_letters"); got != "0" {
		t.Errorf("%s letters are in the file", got)
	}
}

func TestAChangeWithoutPermissionIsRefusedWithWords(t *testing.T) {
	folder := t.TempDir()
	path := killed(t, folder)
	for at := folder; at != os.TempDir(); at = filepath.Dir(at) {
		Must(t, os.Chmod(at, 0o755))
	}
	before := contents(t, folder)
	as(t, nobody, func() {
		file, err := inspect.Open(t.Context(), path)
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		err = file.PauseTypes(context.Background(), "order.*", "")
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Fault != event.ReadOnly || !strings.Contains(storage.Hint, "writable for this user") {
			t.Errorf("a pause returned %v", err)
		}
	})
	if !bytes.Equal(fmt.Append(nil, before), fmt.Append(nil, contents(t, folder))) {
		t.Error("the files have changed")
	}
}
