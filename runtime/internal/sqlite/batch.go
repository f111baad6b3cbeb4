package sqlite

import "github.com/busgen/busgen/runtime/internal/sqlite/database"

// batch is the transaction at hand of the writer: what it writes, and who has to be told. It belongs to who has the
// writer's turn.
type batch struct {
	*ground
	conn     *database.Conn
	requests []*request
	events   []logged // that it appends
	flushes  []flush
	keys     []settledKey
	settled  []tentative // by functions of the program
}

// takeBack makes the batch what it was before a transaction that has failed.
func (b *batch) takeBack() {
	b.unsettle()
	clear(b.events)
	b.events = b.events[:0]
}

// clear makes the batch an empty one, and keeps the memory.
func (b *batch) clear() {
	b.requests = nil
	clear(b.events)
	b.events = b.events[:0]
	clear(b.flushes)
	b.flushes = b.flushes[:0]
	clear(b.keys)
	b.keys = b.keys[:0]
}
