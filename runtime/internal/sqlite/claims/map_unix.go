//go:build unix

package claims

import (
	"os"
	"syscall"
)

// mapFile maps the first bytes of a file into memory. What is written there is
// the operating system's at once, and outlives the process.
func mapFile(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmapFile(mapped []byte) error {
	if mapped == nil {
		return nil
	}
	return syscall.Munmap(mapped)
}
