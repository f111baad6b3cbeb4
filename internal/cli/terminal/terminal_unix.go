//go:build unix && !aix

package terminal

import (
	"errors"
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

// waitForHangUp returns true when a pipe or a socket has no reader any more, and false if the system cannot tell.
// It blocks until then.
func waitForHangUp(file *os.File) bool {
	const neverMind = -1 // how long it takes
	for {
		fds := []unix.PollFd{{Fd: int32(file.Fd())}} // errors and the end are reported without being asked for
		n, err := unix.Poll(fds, neverMind)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			return false
		}
		return fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	}
}
