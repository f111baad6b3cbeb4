package emit

import (
	"os"
	"slices"
	"sync"
)

// writing knows what this process must not leave behind.
var writing unfinished

// unfinished has the names of temporary files, and of folders that were made for them. It is locked
// while such a file is created, and while files take their places.
type unfinished struct {
	sync.Mutex
	names []string // in the order in which they were made
}

// register has a file or a folder made that [Abandon] removes.
func (u *unfinished) register(name string, make func() error) error {
	u.Lock()
	defer u.Unlock()
	err := make()
	if err == nil {
		u.names = append(u.names, name)
	}
	return err
}

// has tells whether a file is one of this process.
func (u *unfinished) has(name string) bool {
	u.Lock()
	defer u.Unlock()
	return slices.Contains(u.names, name)
}

// keep forgets names. The lock is held.
func (u *unfinished) keep(names []string) {
	u.names = slices.DeleteFunc(u.names, func(name string) bool { return slices.Contains(names, name) })
}

// remove removes files, and folders that are empty. The lock is held.
func (u *unfinished) remove(names ...string) {
	for _, name := range names {
		if name != "" {
			os.Remove(name)
		}
	}
	u.keep(names)
}

// Abandon prepares for the end of the process in the middle of everything. Files that are taking
// their places do so first; other changes never happen, and what was prepared for them is removed. No
// function of this package returns after it.
func Abandon() {
	writing.Lock() // for good
	for _, name := range slices.Backward(writing.names) {
		os.Remove(name)
	}
}
