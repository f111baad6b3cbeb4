package buslog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// flushDelay is for how long a success may be known to this process only; busyDelay if the
// subscription is busy. Each stores its own cursor, which costs the servers more than many
// deliveries cost this process.
const (
	flushDelay = 5 * time.Millisecond
	busyDelay  = 20 * time.Millisecond
)

// burst is how many successes, and beginnings of handlers, are stored at once after a quiet
// time. In the long run it is one for each delay. A busy subscription always waits.
const burst = 16

// batchRoom is how many messages one batch has at most, but for the staged events of a
// single delivery.
const batchRoom = 500

func sortClaims(c *cursor) {
	slices.Sort(c.Open)
	c.Open = slices.Compact(c.Open)
	slices.SortFunc(c.Ran, func(a, b claim) int { return cmp.Compare(a.Seq, b.Seq) })
}

// run stores what has changed, until the subscription is removed. There is one batch on its
// way at a time, for all parts: the next one builds on it.
func (u *unit) run() {
	var last time.Time
	left := burst // cursors that may be written at once
	for !u.removed {
		select {
		case <-u.now:
		case <-u.soon:
			delay := flushDelay
			if u.wasBusy {
				delay = busyDelay
			}
			left = min(left+int(time.Since(last)/delay), burst)
			last = time.Now()
			if left > 0 && !u.wasBusy {
				left--
				break
			}
			t := time.NewTimer(delay)
			select {
			case <-u.now:
			case <-t.C:
			case <-u.in.stopped:
			}
			t.Stop()
		case <-u.in.stopped:
			return
		}
		for u.commit() {
		}
	}
}

// commit stores what has ended. It reports whether it has left something, or has to try again.
func (u *unit) commit() (more bool) {
	h := u.in
	h.mu.Lock()
	u.shut()
	u.plan = nil // if there is one, its parts were taken over before it was read
	u.wasBusy, u.removed = u.busyMode, h.units[u.sub.ID] != u
	if !u.owns() || u.stored == u.changes && len(u.queue) == 0 || h.isClosed() {
		u.openShortcut()
		h.mu.Unlock()
		return false
	}
	unsure := u.unsure
	u.unsure = false // unless something cannot be looked up again
	var keys lookedUp
	var asked map[int64]*engine.Record
	taken, all := u.takeEnded(), len(u.queue)
	if asks := len(u.sub.asks) > 0; asks || slices.ContainsFunc(taken, (*flight).stages) {
		u.openShortcut()
		h.mu.Unlock()
		var err error
		if keys, err = u.lookUp(taken); err != nil {
			if !unsure && !h.isClosed() {
				h.logger.Error("dedupe keys cannot be looked up; trying again every second", "subscription_id", h.nameOf(u.sub), "error", err)
			}
			u.unsure = true
			u.pause(time.Second)
			return true
		}
		if asks {
			asked = u.askedEvents()
		}
		h.mu.Lock()
	}
	rows, err := u.wholeRows(taken)
	if !u.owns() {
		h.mu.Unlock()
		return false
	}
	if err != nil {
		h.mu.Unlock()
		u.pause(retryPause)
		return true
	}
	u.whole = rows
	u.shut()
	p := u.makePlan(taken, keys, asked)
	if u.plan = p; len(p.msgs) == 0 {
		u.complete(p, whole)
		h.mu.Unlock()
		return all > len(taken)
	}
	u.openShortcut()
	h.mu.Unlock()
	return !u.send(p) || all > len(taken)
}

// stages reports whether the handler has published something.
func (f *flight) stages() bool { return len(f.how.Staged) > 0 }

// takeEnded returns the deliveries that have ended and fit into one batch. They stay in the queue until they are
// stored.
func (st *storing) takeEnded() []*flight {
	room, n := batchRoom, 0
	for ; n < len(st.queue) && (n == 0 || !st.alone); n++ {
		if f := st.queue[n]; !st.plain(f) {
			room -= 1 + 2*len(f.how.Staged)
		}
		if room < 0 && n > 0 {
			break
		}
	}
	return slices.Clone(st.queue[:n])
}

// send stores a plan. It reports false if it has to be made anew.
func (u *unit) send(p *plan) bool {
	h := u.in
	var records []engine.Record
	for _, f := range p.flights {
		records = append(records, f.how.Staged...)
	}
	msgs := p.msgs
	for failing := false; ; {
		var last int64
		err := h.declareTypesOf(context.Background(), records)
		if err == nil {
			if last, err = h.appendPlan(p); err == nil {
				h.reach(context.Background(), last)
				h.noteWrite(nil, records)
				if failing {
					h.logger.Info("dispositions can be stored again", "subscription_id", h.nameOf(u.sub))
				}
				u.tries = 0
				return true
			}
		}
		select {
		case <-h.stopped:
			return true
		default:
		}
		if errors.Is(err, stream.ErrConflict) || errors.Is(err, stream.ErrInDoubt) || errors.Is(err, stream.ErrStored) {
			// Another process has changed one of the records, or this was stored already: the view
			// says so when it has everything.
			if errors.Is(err, stream.ErrInDoubt) {
				h.mu.Lock()
				p.msgs = nil                   // they are not sent again
				u.doubts = append(u.doubts, p) // it may be stored later
				h.mu.Unlock()
			}
			failed := h.sync(context.Background())
			if !errors.Is(err, stream.ErrInDoubt) {
				h.refused(context.Background(), msgs) // pass has said what to do
			}
			h.mu.Lock()
			if u.plan == p {
				u.plan = nil
			}
			h.mu.Unlock()
			if failed != nil || u.tries > 0 { // another process is at it, too
				u.pause(min(time.Duration(u.tries+1)*flushDelay, time.Second))
			}
			if u.tries++; u.tries%lookTries == 0 {
				go h.verify()
			}
			return false
		}
		if (errors.Is(err, stream.ErrTooLarge) || errors.Is(err, nats.ErrMaxPayload)) && u.shrink(p, err) {
			return false
		}
		h.noteWrite(h.storage("append", err), records)
		if !failing {
			failing = true
			h.logger.Error("dispositions cannot be stored; trying again every second", "subscription_id", h.nameOf(u.sub), "error", err)
		}
		u.pause(time.Second)
	}
}

// pause waits before the next try.
func (st *storing) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-st.in.stopped:
	}
}

// appendPlan appends the messages of a plan, and returns the sequence number of the last one.
func (h *handled) appendPlan(p *plan) (last int64, err error) {
	if !p.apart || len(p.msgs) == 1 {
		first, err := h.append(context.Background(), p.msgs...)
		return first + int64(len(p.msgs)) - 1, err
	}
	numbers, errs := make([]int64, len(p.msgs)), make([]error, len(p.msgs))
	var all sync.WaitGroup
	for i := range p.msgs {
		all.Go(func() { numbers[i], errs[i] = h.append(context.Background(), p.msgs[i]) })
	}
	all.Wait()
	return slices.Max(numbers), errors.Join(errs...)
}

// complete says that a plan is stored, or what of it is stored with the cursor of a part.
func (u *unit) complete(p *plan, at int) {
	u.shut()
	u.alone = false
	ended, cursors := p.take(u.sub, at)
	done := len(p.cursors) == 0
	if u.plan == p && done {
		u.plan = nil
	}
	u.doubts = slices.DeleteFunc(u.doubts, func(other *plan) bool { // they build on older cursors
		if !p.apart || !other.apart {
			return !p.apart || other.cursors[at] != nil
		}
		delete(other.cursors, at)
		return len(other.cursors) == 0
	})
	last := int64(0)
	for _, f := range ended {
		f.stored, f.known, f.plan = true, false, nil // or each plan would keep the ones before in memory
		last = max(last, f.record.Seq)
	}
	u.flights.sweepTo(last)
	u.queue = slices.DeleteFunc(u.queue, func(f *flight) bool {
		if f.stored && f.returns {
			u.returning--
		}
		return f.stored
	})
	left := false
	for at, c := range cursors {
		if s := &u.parts[at]; c.Owner == "" {
			*s, left = share{n: s.n}, true
			u.forgetLeft(at)
		} else {
			s.stored, s.busy = p.changes, c.Busy
		}
	}
	for _, tell := range p.told { // of a plan whose cursors are not apart
		tell()
	}
	if done {
		u.stored = max(u.stored, p.changes)
	}
	u.noteWritten()
	// A delivery that has ended with a row may be due at once.
	if len(u.sub.rows) > 0 || u.parking.any.Load() {
		for _, f := range ended {
			u.endStored(f, u.sub.rows[f.record.Seq])
		}
	}
	if left {
		u.in.lack()
	}
	u.openShortcut()
	if u.consumer != nil && len(ended) > 0 {
		u.consumer.wake()
	}
}
