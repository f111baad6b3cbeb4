package claims

import (
	"os"
	"sync"
)

// SyncFile is how the file is synced. Tests make it slow.
var SyncFile = (*os.File).Sync

// syncing makes the file survive a power cut, beside the workers.
type syncing struct {
	mu      sync.Mutex
	running bool
	again   bool // something was claimed since the sync at hand began
	all     sync.WaitGroup
}

// Sync makes what the worker at p has claimed survive a power cut, as far as the disk allows.
// It does not wait for that: between a claim and the call of its handler there must be nothing
// that takes time. Else a process that ends meanwhile counts for a handler that was never
// called, and on a slow disk innocent events die of it. The death of a process needs no sync.
func (c *File) Sync(p *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &c.syncing
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.file == nil {
		return
	}
	if s.running {
		s.again = true
		return
	}
	s.running = true
	s.all.Add(1)
	go s.run(c.file)
}

func (s *syncing) run(file *os.File) {
	defer s.all.Done()
	for {
		SyncFile(file) // the worst that an error does is that a power cut counts for nobody
		s.mu.Lock()
		if !s.again {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.again = false
		s.mu.Unlock()
	}
}
