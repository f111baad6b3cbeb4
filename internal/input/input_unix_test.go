//go:build unix

package input_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/busgen/busgen/internal/input"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Chdir(t.TempDir())
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := errors.Join(syscall.Mkfifo("fifo", 0o666), os.Symlink("fifo", "link"), os.Mkdir("folder", 0o777)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"fifo":      "read fifo: it is a pipe, not a regular file",
		"link":      "read link: it is a pipe, not a regular file",
		"folder":    "read folder: it is a folder",
		"socket":    "read socket: it is a socket, not a regular file",
		"/dev/zero": "read /dev/zero: it is a device, not a regular file",
		"nowhere":   "stat nowhere: no such file or directory",
	} {
		if _, err := input.ReadFile(name, 10); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAFileMayNotBeLargerThanItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func(size int) {
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(1 << 20)
	if content, err := input.ReadFile(path, 1<<20); len(content) != 1<<20 || err != nil {
		t.Errorf("got %d bytes, %v", len(content), err)
	}
	write(3 << 19)
	_, err := input.ReadFile(path, 1<<20)
	if large, ok := errors.AsType[*input.TooLargeError](err); !ok || large.Size != 3<<19 || !strings.Contains(err.Error(), "it has 1.5 MiB, and may have 1 MiB") {
		t.Errorf("got %v", err)
	}
	// A file of the kernel has no size before it is read.
	if content, err := input.ReadFile("/proc/self/status", 1<<20); err == nil && len(content) == 0 {
		t.Error("a file of size 0 that has content was read as empty")
	}
}
