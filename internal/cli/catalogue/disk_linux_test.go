package catalogue

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
)

// inDisk makes a file system of its own, with files, and goes there for the test. Only root can.
func inDisk(t *testing.T, size string, files map[string]string) (remount func(flags uintptr)) {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("this needs the right to mount:", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, 0) })
	t.Chdir(disk)
	for name, text := range files {
		must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)))
	}
	return func(flags uintptr) {
		t.Helper()
		must(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|flags, "size="+size))
	}
}

// outOfDate generates code, and changes the catalogue.
func outOfDate(t *testing.T) {
	t.Helper()
	busgen(t, "-q").Wants(t, 0, "", "")
	busgen(t, "new event late.comer --field id:uuid").Wants(t, 0, "events.yaml: added late.comer\n", "")
}

// unordered is not in canonical form.
const unordered = "package: shop\nversion: 1\nevents:\n  user.created:\n    payload: { id: uuid }\n    doc: It happened.\n"

var writers = []string{"generate", "generate --out new/folder", "fmt --write", "rename event late.comer early.bird", "docs --out page.html", "export asyncapi --out asyncapi.json", "init started"}

func TestAFullDiskChangesNothing(t *testing.T) {
	for _, line := range writers {
		t.Run(line, func(t *testing.T) {
			inDisk(t, "2m", map[string]string{"events.yaml": unordered})
			outOfDate(t)
			fill(t)
			before := clitest.Snapshot(t)
			got := busgen(t, line)
			if got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, "no space left on device") {
				t.Errorf("%+v", got)
			}
			wantsSame(t, before)
		})
	}
}

func TestAReadOnlyFolderChangesNothing(t *testing.T) {
	for _, line := range writers {
		t.Run(line, func(t *testing.T) {
			remount := inDisk(t, "2m", map[string]string{"events.yaml": unordered})
			outOfDate(t)
			before := clitest.Snapshot(t)
			remount(syscall.MS_RDONLY)
			got := busgen(t, line)
			if got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, "read-only file system") {
				t.Errorf("%+v", got)
			}
			wantsSame(t, before)
			if got := busgen(t, "check"); got.Status != cli.StatusNo {
				t.Errorf("check needs to write: %+v", got)
			}
		})
	}
}

// fill leaves no room.
func fill(t *testing.T) {
	t.Helper()
	file, err := os.Create("zz_filler")
	must(t, err)
	defer file.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for {
			if _, err := file.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
}

func wantsSame(t *testing.T, before map[string]clitest.Entry) {
	t.Helper()
	now := clitest.Snapshot(t)
	for name := range now {
		if before[name] != now[name] {
			t.Errorf("%s has changed", name)
		}
	}
	if len(now) != len(before) {
		t.Errorf("there are %d files, were %d", len(now), len(before))
	}
}
