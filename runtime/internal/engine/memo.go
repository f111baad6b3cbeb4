package engine

import "sync"

// Memo remembers one thing that was computed from a record, such as its
// decoded payload, so that it is computed once for all who share the record.
// It is safe for concurrent use.
type Memo struct {
	once  sync.Once
	value any
	err   error
}

// Get returns what compute has returned for the first caller.
func (m *Memo) Get(compute func() (any, error)) (any, error) {
	m.once.Do(func() { m.value, m.err = compute() })
	return m.value, m.err
}
