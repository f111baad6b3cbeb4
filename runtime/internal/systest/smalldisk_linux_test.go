package systest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/observe"
)

// These tests fill real file systems, and make them read-only.

// mounted mounts a file system in a folder of its own until the test ends.
func mounted(t *testing.T, source, kind string, flags uintptr, options string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := syscall.Mount(source, folder, kind, flags, options); err != nil {
		t.Skipf("this needs to mount a small file system, and may not here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", folder, err)
		}
	})
	return folder
}

// fill takes all space of the file system at folder until free is called.
func fill(t *testing.T, folder string) (free func()) {
	t.Helper()
	path := filepath.Join(folder, "filler")
	file, err := os.Create(path)
	Must(t, err)
	defer file.Close()
	for size := 1 << 16; size > 0; {
		if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 16
		} else {
			Must(t, err)
		}
	}
	return func() { Must(t, os.Remove(path)) }
}

// refusals publishes until it is refused, and then a few times more.
func refusals(t *testing.T, f *Fixture, number *int, stored *[]int) (refused []*event.StorageError) {
	t.Helper()
	for len(refused) < 4 {
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: strings.Repeat("A", 2000), Number: *number})
		var storage *event.StorageError
		switch {
		case err == nil:
			*stored = append(*stored, *number)
		case errors.As(err, &storage):
			refused = append(refused, storage)
		default:
			t.Fatalf("publishing returned %v", err)
		}
		if *number++; *number > 100_000 {
			t.Fatal("the disk never gets full")
		}
	}
	return refused
}

// hold begins a transaction that reads, as a backup does.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	reader, err := sqlite3.Open(path)
	Must(t, err)
	Must(t, reader.Exec("BEGIN; SELECT count(*) FROM busgen_log"))
	return func() { Must(t, reader.Close()) }
}

func TestAFullDiskIsSaidToBeFullAndRecoversByItself(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	for _, reading := range []string{"nobody reads", "a reader stays", "a reader leaves"} {
		t.Run(reading, func(t *testing.T) {
			for range 5 {
				fullDisk(t, reading)
			}
		})
	}
}

func fullDisk(t *testing.T, reading string) {
	folder := mounted(t, "tmpfs", "tmpfs", 0, "size=12m")
	f := SQLite.Reopen(t, filepath.Join(folder, "events.db"))
	var seen Journal[int]
	steps := make(chan struct{}, 1000)
	f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		<-steps
		seen.Add(e.Payload.Number)
		return nil
	}, runtime.WithTimeout(time.Hour))
	f.MustStart()
	var stored []int
	number := 0
	for ; number < 300; number++ {
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: strings.Repeat("A", 2000), Number: number})
		Must(t, err)
		stored = append(stored, number)
		if number == 100 && reading != "nobody reads" {
			defer hold(t, f.Path)() // whose state gets old
		}
	}
	release := func() {}
	if reading == "a reader leaves" {
		release = hold(t, f.Path)
	}

	free := fill(t, folder)
	for range 50 {
		steps <- struct{}{} // handlers go on
	}
	for _, storage := range refusals(t, f, &number, &stored) {
		if storage.Fault != event.DiskFull || !strings.Contains(storage.Hint, "free some space") || storage.InDoubt {
			t.Errorf("publishing on a full disk returned %v (fault %q, in doubt %v)", storage, storage.Fault, storage.InDoubt)
		}
	}
	free()
	for range 20 {
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: number})
		Must(t, err)
		stored = append(stored, number)
		if number++; number%10 == 0 {
			release()
			release = func() {}
		}
	}
	close(steps)
	f.Idle()
	f.Stop()
	if got := seen.All(); !slices.Equal(got, stored) {
		t.Errorf("%d events were stored and %d handled", len(stored), len(got))
	}
	if got := queryFile(t, f.Path, "SELECT count(*) FROM events WHERE status = 'done'"); got != fmt.Sprint(len(stored)) {
		t.Errorf("%d events were stored, %s are done", len(stored), got)
	}
	if got := queryFile(t, f.Path, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check says %s", got)
	}
}

func TestAFileIsNotOpenedOnAFullDiskUntilThereIsSpace(t *testing.T) {
	folder := mounted(t, "tmpfs", "tmpfs", 0, "size=2m")
	path := filepath.Join(folder, "events.db")
	f := SQLite.Reopen(t, path)
	f.Publish(1, 2, 3)
	f.Stop()
	free := fill(t, folder)
	for _, path := range []string{path, filepath.Join(folder, "new.db")} {
		_, err := runtime.Open(t.Context(), path, Catalogue)
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Fault != event.DiskFull {
			t.Errorf("opening %s on a full disk returned %v, want a fault %q", path, err, event.DiskFull)
		}
	}
	free()
	SQLite.Reopen(t, filepath.Join(folder, "new.db")).Publish(1)
	f = SQLite.Reopen(t, path)
	f.Publish(4)
	if got := queryFile(t, f.Path, "SELECT count(*) FROM events"); got != "4" {
		t.Errorf("there are %s events, want 4", got)
	}
}

// A file system that meets an error protects itself: from one moment to the
// next nothing can be written, although the file was opened for it.
func TestADiskThatBecomesReadOnlyIsSaidToBeReadOnly(t *testing.T) {
	image := filepath.Join(t.TempDir(), "image")
	Must(t, os.WriteFile(image, nil, 0o644))
	Must(t, os.Truncate(image, 32<<20))
	if out, err := exec.Command("mkfs.ext4", "-q", "-e", "remount-ro", image).CombinedOutput(); err != nil {
		t.Skipf("this needs an ext4 file system: %v %s", err, out)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("this needs a loop device, and may not have one here: %v", err)
	}
	device := strings.TrimSpace(string(out))
	defer exec.Command("losetup", "--detach", device).Run()
	f := SQLite.Reopen(t, filepath.Join(mounted(t, device, "ext4", 0, "errors=remount-ro"), "events.db"))
	f.Publish(1, 2, 3)

	trigger := "/sys/fs/ext4/" + filepath.Base(device) + "/trigger_fs_error"
	if err := os.WriteFile(trigger, []byte("a test"), 0o200); err != nil {
		t.Skipf("this needs to make a file system fail: %v", err)
	}
	for range 3 {
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: strings.Repeat("A", 20_000)})
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Fault != event.ReadOnly || !strings.Contains(storage.Hint, "writable") {
			t.Errorf("publishing on a disk that became read-only returned %v", err)
		}
	}
}

func TestTheHealthAndTheCountsSayThatADiskIsFull(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	folder := mounted(t, "tmpfs", "tmpfs", 0, "size=6m")
	policy := observe.DefaultHealth()
	policy.Every = time.Second
	f := SQLite.Reopen(t, filepath.Join(folder, "events.db"), runtime.WithHealth(policy, nil))
	f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
	f.MustStart()
	unwritable := func(exceeded bool) observe.HealthCheck {
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
			health := f.Bus.Health()
			for _, c := range health.Checks {
				if c.Name == observe.CheckUnwritable && c.Exceeded == exceeded && !health.At.IsZero() && (!exceeded || !health.Healthy) {
					return c
				}
			}
		}
		t.Fatalf("the health is %+v", f.Bus.Health())
		return observe.HealthCheck{}
	}
	says := func(want event.Fault) {
		t.Helper()
		file, err := inspect.Open(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		status, err := file.Status(t.Context())
		Must(t, err)
		if status.Unwritable != want {
			t.Errorf("the status says %q, want %q", status.Unwritable, want)
		}
	}
	unwritable(false)
	says("")
	free := fill(t, folder)
	says(event.DiskFull) // the file system tells
	began, number, stored := time.Now(), 0, []int(nil)
	refused := refusals(t, f, &number, &stored)
	first := time.Now()
	if c := unwritable(true); c.Mostly != "disk full" || c.Since.Before(began.Add(-time.Second)) || c.Since.After(first) || c.Value != 1 {
		t.Errorf("the check is %+v; the disk was full between %v and %v", c, began, first)
	}
	var metrics strings.Builder
	Must(t, f.Bus.WriteMetrics(t.Context(), &metrics))
	for _, want := range []string{
		fmt.Sprintf("busgen_refused_total{reason=\"disk_full\"} %d\n", len(refused)), `busgen_refused_total{reason="invalid"} 0`,
		`busgen_health_exceeded{check="unwritable"} 1`, `busgen_unwritable_seconds{fault="disk full"} `,
	} {
		if !strings.Contains(metrics.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	says(event.DiskFull)
	free()
	unwritable(false) // although nobody publishes
	says("")
	if n := f.Bus.Stats().Refused["disk_full"]; n != uint64(len(refused)) {
		t.Errorf("%d events were refused for want of space, want %d", n, len(refused))
	}
}
