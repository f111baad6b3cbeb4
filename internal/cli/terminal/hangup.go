package terminal

import (
	"io"
	"os"
)

// HangUp returns a channel that is closed when w is a pipe or a socket whose reader has gone. Otherwise it stays
// open, also where the operating system does not tell.
func HangUp(w io.Writer) <-chan struct{} {
	file, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := file.Stat(); err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil
	}
	gone := make(chan struct{})
	go func() {
		if waitForHangUp(file) {
			close(gone)
		}
	}()
	return gone
}
