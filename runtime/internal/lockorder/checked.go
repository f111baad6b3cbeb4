//go:build lockorder

package lockorder

import (
	"fmt"
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/internal/goroutine"
)

// Mutex is a lock whose place in the order is that of L, and checks it.
type Mutex[L lock] struct{ mu sync.Mutex }

// held are the locks that goroutines have, in the order in which they took them.
var held struct {
	sync.Mutex
	by map[uint64][]taken
}

type taken struct {
	mutex any
	lock  lock
}

// Lock takes the lock. It panics if the goroutine has one that comes later in the order.
func (m *Mutex[L]) Lock() {
	m.check()
	m.mu.Lock()
	m.note()
}

// TryLock takes the lock if it is free. It may be called in any order: it does not wait.
func (m *Mutex[L]) TryLock() bool {
	if !m.mu.TryLock() {
		return false
	}
	m.note()
	return true
}

// Unlock gives the lock back.
func (m *Mutex[L]) Unlock() {
	g := goroutine.Number()
	held.Lock()
	all := held.by[g]
	if at := slices.IndexFunc(all, func(t taken) bool { return t.mutex == m }); at >= 0 {
		all = slices.Delete(all, at, at+1)
	}
	if held.by[g] = all; len(all) == 0 {
		delete(held.by, g)
	}
	held.Unlock()
	m.mu.Unlock()
}

func (m *Mutex[L]) check() {
	var mine L
	place, name, again := mine.at()
	held.Lock()
	defer held.Unlock()
	for _, t := range held.by[goroutine.Number()] {
		if other, called, _ := t.lock.at(); other > place || other == place && !again {
			panic(fmt.Sprintf("the lock of %s is taken while that of %s is held: see the order in package lockorder", name, called))
		}
	}
}

func (m *Mutex[L]) note() {
	var mine L
	g := goroutine.Number()
	held.Lock()
	defer held.Unlock()
	if held.by == nil {
		held.by = map[uint64][]taken{}
	}
	held.by[g] = append(held.by[g], taken{m, mine})
}
