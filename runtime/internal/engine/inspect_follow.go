package engine

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
)

// Following says what part of a log to read forwards.
type Following struct {
	Filter Filter
	After  string // the cursor of the part before; empty for the beginning of the log
	Newest bool   // without After: begin with the newest Limit events that match
	Limit  int    // at most so many events; 0 is allowed with Newest
}

// Check refuses negative limits.
func (f Following) Check() error {
	if f.Limit < 0 || f.Limit == 0 && !f.Newest {
		return fmt.Errorf("the limit is %d: it must be positive", f.Limit)
	}
	return nil
}

// FollowMark is the place in a log that a cursor of Following stands for.
type FollowMark struct {
	Seq int64     // the events up to here have had their turn
	ID  uuid.UUID // of the event at Seq; Nil if there is none
	Log uuid.UUID // which log it is
	At  time.Time // when it was read
}

// Cursor returns the mark as a cursor.
func (m FollowMark) Cursor() string {
	return cursorOf([]int64{m.Seq, half(m.ID[:8]), half(m.ID[8:]), half(m.Log[:8]), half(m.Log[8:]), m.At.UnixMicro()})
}

// Mark returns the mark of the cursor, or nil for the beginning of the log. For another
// cursor it returns a *PageError.
func (f Following) Mark() (*FollowMark, error) {
	place, err := PlaceOf(event.Page{After: f.After}, 6)
	if place == nil || err != nil {
		return nil, err
	}
	m := &FollowMark{Seq: place[0], At: time.UnixMicro(place[5])}
	for i := range 2 {
		binary.BigEndian.PutUint64(m.ID[8*i:], uint64(place[1+i]))
		binary.BigEndian.PutUint64(m.Log[8*i:], uint64(place[3+i]))
	}
	return m, nil
}

func half(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }
