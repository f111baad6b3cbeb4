package buslog

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// findSlack is by how much the clocks of publishers and servers may differ, so that an event
// is found by the time in its id.
const findSlack = time.Hour

// find returns the event of an id, or a *NotFoundError.
func (rd *reader) find(ctx context.Context, id uuid.UUID) (*engine.Record, error) {
	at, _ := timeOf(id)
	found, err := rd.findNear(ctx, map[uuid.UUID]time.Time{id: at})
	if err == nil && found[id] == nil { // by a clock that is wrong, or it is no id of a time
		err = rd.each(ctx, 1, func(r *engine.Record) bool {
			if r.ID == id {
				found[id] = r
			}
			return found[id] == nil
		})
	}
	if err == nil && (found[id] == nil || !rd.shown(found[id])) {
		err = &event.NotFoundError{Thing: "event", Name: id.String()}
	}
	return found[id], err
}

// findNear returns the events of ids that have a row, were made by operators, or were stored at about a time; zero for
// an unknown one.
func (rd *reader) findNear(ctx context.Context, ids map[uuid.UUID]time.Time) (map[uuid.UUID]*engine.Record, error) {
	found := map[uuid.UUID]*engine.Record{}
	for _, r := range rd.ring.events {
		if _, wanted := ids[r.ID]; wanted {
			found[r.ID] = r
		}
	}
	places := rd.placesOf(ids)
	var from, to time.Time
	for id, at := range ids {
		if found[id] != nil {
			continue
		}
		r, err := rd.rowed(ctx, places[id])
		if r == nil && err == nil {
			r, err = rd.made(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		if r != nil {
			found[id] = r
			continue
		}
		if at.IsZero() {
			continue
		}
		if from.IsZero() || at.Before(from) {
			from = at
		}
		if at.After(to) {
			to = at
		}
	}
	if from.IsZero() {
		return found, nil
	}
	seq, err := rd.before(from.Add(-findSlack))
	if err != nil {
		return nil, err
	}
	err = rd.each(ctx, seq+1, func(r *engine.Record) bool {
		if _, wanted := ids[r.ID]; wanted {
			found[r.ID] = r
		}
		return len(found) < len(ids) && !r.CreatedAt.After(to.Add(findSlack))
	})
	return found, err
}

// placesOf returns the places of events that have a row.
func (rd *reader) placesOf(ids map[uuid.UUID]time.Time) map[uuid.UUID]int64 {
	places := map[uuid.UUID]int64{}
	for _, s := range rd.subs {
		for seq, r := range s.rows {
			if _, wanted := ids[r.ID]; wanted {
				places[r.ID] = seq
			}
		}
	}
	return places
}

// rowed returns the event of a row at a place; nil if that is 0 or the event was pruned just now.
func (rd *reader) rowed(ctx context.Context, seq int64) (*engine.Record, error) {
	if seq == 0 {
		return nil, nil
	}
	r, err := rd.event(ctx, seq)
	if errors.Is(err, stream.ErrNotFound) {
		return nil, nil
	}
	return r, rd.storage("read", err)
}

// made returns an event that an operator has made, or nil.
func (rd *reader) made(ctx context.Context, id uuid.UUID) (*engine.Record, error) {
	rd.mu.Unlock()
	m, err := rd.stream.LastOf(ctx, rd.madeSubject(id))
	rd.mu.Lock()
	if errors.Is(err, stream.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, rd.storage("read", err)
	}
	return eventOf(m)
}

// timeOf returns the time in an id of version 7.
func timeOf(id uuid.UUID) (time.Time, bool) {
	if id.Version() != 7 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)), true
}

// shown reports whether an event is part of the log. One that an operator has made is when its first row is stored,
// just after the event.
func (rd *reader) shown(r *engine.Record) bool {
	return r.Origin == nil || slices.ContainsFunc(rd.inOrder(), func(s *sub) bool { return s.rows[r.Seq] != nil })
}

// before returns a place in the log behind which everything is that was stored after a time.
func (rd *reader) before(at time.Time) (int64, error) {
	for i := len(rd.ring.events) - 1; i >= 0; i-- {
		if r := rd.ring.events[i]; !r.CreatedAt.After(at) {
			return r.Seq, nil
		}
	}
	rd.mu.Unlock()
	next, err := rd.stream.NextSince(context.Background(), at)
	rd.mu.Lock()
	switch {
	case errors.Is(err, stream.ErrNotFound):
		return rd.ring.from - 1, nil
	case err != nil:
		return 0, rd.storage("read", err)
	}
	return next.Seq - 1, nil
}

// How many sequence numbers are read at a time, going backwards. Where few of them are
// events, the step grows.
const (
	backStep    = 512
	maxBackStep = 8192
)

// eachBack calls f with the events up to a sequence number, the newest first, until it returns false. It reads no more
// of the log than that takes.
func (rd *reader) eachBack(ctx context.Context, seq int64, f func(r *engine.Record) bool) error {
	for step := int64(backStep); seq > 0; {
		from := max(1, seq-step+1)
		var part []*engine.Record
		err := rd.eachUntil(ctx, from, seq, func(r *engine.Record) bool {
			part = append(part, r)
			return true
		})
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(part) {
			if !f(r) {
				return nil
			}
		}
		if seq = from - 1; int64(len(part)) < step/8 {
			step = min(2*step, maxBackStep)
		}
	}
	return nil
}

// oldest returns the oldest event, or nil if there is none.
func (rd *reader) oldest(ctx context.Context) (*engine.Record, error) {
	rd.mu.Unlock()
	defer rd.mu.Lock()
	for from := int64(1); ; {
		m, err := rd.stream.NextOf(ctx, rd.subject(eventToken, ">"), from)
		if errors.Is(err, stream.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, rd.storage("read", err)
		}
		r, err := eventOf(m)
		if err == nil {
			return r, nil
		}
		rd.noteForeign(m, err)
		from = m.Seq + 1
	}
}
