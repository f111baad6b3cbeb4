//go:build unix && !aix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// sizeOf asks the terminal; only terminals answer.
func sizeOf(file *os.File) (width, height int, terminal bool) {
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	return int(size.Col), int(size.Row), true
}
