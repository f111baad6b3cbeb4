package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// sizeOf asks the console. The input has no size, but a mode.
func sizeOf(file *os.File) (width, height int, terminal bool) {
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(file.Fd()), &mode) != nil {
		return 0, 0, false
	}
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(file.Fd()), &info) != nil {
		return 0, 0, true
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1, true
}

// waitForHangUp cannot tell: the writer gets an error.
func waitForHangUp(*os.File) bool { return false }
