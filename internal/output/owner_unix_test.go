//go:build unix

package output_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/busgen/busgen/internal/output"
)

func TestRootLeavesFilesToTheirOwners(t *testing.T) {
	dir := folder(t, map[string]string{"events.yaml": "old", "a.gen.go": header + "old"})
	for _, name := range []string{"events.yaml", "a.gen.go"} {
		if err := os.Chown(filepath.Join(dir, name), 12345, 12346); err != nil {
			t.Skip(err)
		}
	}
	if _, err := output.Replace(filepath.Join(dir, "events.yaml"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := compare(t, dir, files("a.gen.go", "new")).Apply(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"events.yaml", "a.gen.go"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 12345 || stat.Gid != 12346 {
			t.Errorf("%s belongs to %d:%d", name, stat.Uid, stat.Gid)
		}
	}
}
