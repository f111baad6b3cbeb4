package output

import (
	"os"
	"slices"
	"sync"
)

// writing lists what this process must not leave behind.
var writing unfinished

// unfinished has the names of temporary files, and of folders created for them. It is locked while
// such a file is created, and while files are renamed to their final names.
type unfinished struct {
	sync.Mutex
	names []string // in the order of creation
}

// register calls make, which creates a file or a folder, and has [Abandon] remove it.
func (u *unfinished) register(name string, make func() error) error {
	u.Lock()
	defer u.Unlock()
	err := make()
	if err == nil {
		u.names = append(u.names, name)
	}
	return err
}

// has reports whether this process created a file.
func (u *unfinished) has(name string) bool {
	u.Lock()
	defer u.Unlock()
	return slices.Contains(u.names, name)
}

// keep removes names from the list, so that the files stay. The caller holds the lock.
func (u *unfinished) keep(names []string) {
	u.names = slices.DeleteFunc(u.names, func(name string) bool { return slices.Contains(names, name) })
}

// remove deletes files and empty folders. The caller holds the lock.
func (u *unfinished) remove(names ...string) {
	for _, name := range names {
		if name != "" {
			os.Remove(name)
		}
	}
	u.keep(names)
}

// Abandon prepares for the end of the process at any time. It waits for renames that have begun, cancels
// all other changes, and deletes temporary files. Functions of this package that would change a file
// block forever afterwards.
func Abandon() {
	writing.Lock() // forever
	for _, name := range slices.Backward(writing.names) {
		os.Remove(name)
	}
}
