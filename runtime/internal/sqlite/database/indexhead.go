package database

import (
	"runtime/debug"
	"sync"
)

// IndexHead is the head of the index of a write-ahead log, as memory. SQLite writes it with
// each commit, whichever process commits, and readers of SQLite find out by it whether
// anybody has. So while it stays as it is, PRAGMA data_version would say nothing new; and to
// look at it takes no call of the system. It is safe for concurrent use.
type IndexHead struct {
	mu     sync.RWMutex // Close waits for who reads
	mapped []byte
}

// Head is what SQLite writes with each commit: a counter, the size and a checksum of the log
// among others, and all of them a second time. The zero value stands for what cannot be read.
type Head [96]byte

// Read returns the head as it is now, and perhaps as it never was: SQLite may be writing it.
// It is zero where the index is not mapped, and after Close.
func (h *IndexHead) Read() (now Head) {
	if h == nil {
		return Head{}
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil { // the file was cut, and there is no memory behind it
			now = Head{}
		}
	}()
	copy(now[:], h.mapped)
	return now
}
