//go:build (linux || darwin) && !(sqlite3_flock || sqlite3_dotlk)

package database

import (
	"os"
	"syscall"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// MapIndexHead maps the head of the index that belongs to the database at path, which is open
// and in use. It returns nil where that is not possible. Close it at the end.
func MapIndexHead(path string) *IndexHead {
	index := locks.PinIndex(path + file.IndexSuffix) // not one that nobody writes to
	if index == nil {
		return nil
	}
	defer index.Close()
	mapped, err := syscall.Mmap(int(index.Fd()), 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return &IndexHead{mapped: mapped}
}

// Close ends the mapping.
func (h *IndexHead) Close() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	mapped := h.mapped
	h.mapped = nil
	return syscall.Munmap(mapped)
}
