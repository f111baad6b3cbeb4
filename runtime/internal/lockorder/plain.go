//go:build !lockorder

package lockorder

import "sync"

// Mutex is a lock whose place in the order is that of L.
type Mutex[L lock] struct{ sync.Mutex }
