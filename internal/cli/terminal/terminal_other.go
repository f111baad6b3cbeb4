//go:build !windows && (!unix || aix)

package terminal

import "os"

// sizeOf knows no terminals here.
func sizeOf(*os.File) (width, height int, terminal bool) { return 0, 0, false }

// waitForHangUp cannot tell: the writer gets an error.
func waitForHangUp(*os.File) bool { return false }
