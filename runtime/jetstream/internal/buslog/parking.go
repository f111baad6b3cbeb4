package buslog

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/ledger"
)

// A Hold with a waitlist parks a delivery: its row is held, and says in which waitlists it is. Each unit has an index
// of the waitlists of its parts, so nothing looks at other deliveries to find the next one of a waitlist.
//
// A waitlist that is freed writes no rows. The deliveries are due in memory, and the next cursors of their parts name
// them: a process that takes a part over makes them due again. One that was freed by the end of another is named when
// that is stored, in the same batch. A unit names mostFreed at most. Of more than that, those of a process that dies
// are parked again. They do not wait for ever: the deliveries that are named come, and the process that ends them frees
// the next ones of their waitlists, and Free of the empty waitlist comes to all others.

// mostFreed is how many deliveries that were freed are named in the cursors of a unit.
const mostFreed = 1024

// parking is what a process knows of the waitlists of the parts that it hands out. It is guarded by the log's mu.
type parking struct {
	any       atomic.Bool // there are waitlists; needs no mu
	waitlists map[string]*lined
	turns     []string // waitlists that Free of the empty waitlist has yet to come to
	freed     []freed
	freedAt   uint64            // the change with which a delivery was freed last
	early     map[int64]*flight // the events whose deliveries were freed before their rows are stored, as freed.by
	starves   bool              // see starving
}

// freed is a delivery that is due because it was freed, which its record does not say.
type freed struct {
	row *row
	by  *flight // whose end has freed it, and is stored no later; nil for none, or if it is stored
}

// lined are the events whose deliveries are in a waitlist, in their order.
type lined struct {
	name   string
	parked []int64 // until the waitlist is freed
	others []int64 // were freed, are due by themselves, or hold up the waitlist from another one
}

// parked reports whether a delivery waits until its waitlist is freed.
func (r *row) parked() bool { return r.State == ledger.Held && r.Waitlist != "" }

// forPause reports whether a delivery is held because its type is paused, or was.
func (r *row) forPause() bool {
	return r.State == ledger.Held && r.HeldSince.IsZero() && r.Waitlist == ""
}

// put notes that the delivery of an event is in a waitlist, and may hold up another one.
func (p *parking) put(seq int64, waitlist, other string, parked bool) {
	if waitlist == "" {
		return
	}
	p.any.Store(true)
	l := p.of(waitlist)
	if parked {
		l.parked = insertSeq(l.parked, seq)
	} else {
		l.others = insertSeq(l.others, seq)
	}
	if other != "" {
		l = p.of(other)
		l.others = insertSeq(l.others, seq)
	}
}

// putRow is put for a row. Rows of a waitlist share its name.
func (p *parking) putRow(r *row) {
	other := r.Delivery.Key
	if p.put(r.Seq, r.Waitlist, other, r.parked()); r.Waitlist == "" {
		return
	}
	if r.Waitlist = p.of(r.Waitlist).name; other != "" {
		r.Delivery.Key = p.of(other).name
	}
}

// of returns a waitlist, which may be new.
func (p *parking) of(waitlist string) *lined {
	l := p.waitlists[waitlist]
	if l == nil {
		if p.waitlists == nil {
			p.waitlists = map[string]*lined{}
		}
		l = &lined{name: waitlist}
		p.waitlists[waitlist] = l
	}
	return l
}

// remove takes the delivery of an event out of its waitlists.
func (p *parking) remove(seq int64, waitlists ...string) {
	for _, waitlist := range waitlists {
		if l := p.waitlists[waitlist]; l != nil {
			l.parked, l.others = removeSeq(l.parked, seq), removeSeq(l.others, seq)
			p.tidy(l)
		}
	}
}

// removeRow is remove for a row; nil for none.
func (p *parking) removeRow(r *row) {
	if r != nil && r.Waitlist != "" {
		p.remove(r.Seq, r.Waitlist, r.Delivery.Key)
	}
}

// tidy forgets a waitlist that has no deliveries.
func (p *parking) tidy(l *lined) {
	if len(l.parked)+len(l.others) == 0 {
		delete(p.waitlists, l.name)
		p.any.Store(len(p.waitlists) > 0)
	}
}

func insertSeq(all []int64, seq int64) []int64 {
	if at, found := slices.BinarySearch(all, seq); !found {
		return slices.Insert(all, at, seq)
	}
	return all
}

func removeSeq(all []int64, seq int64) []int64 {
	switch at, found := slices.BinarySearch(all, seq); {
	case !found:
		return all
	case at == 0: // nearly always
		return all[1:]
	default:
		return slices.Delete(all, at, at+1)
	}
}

// Parked implements [engine.Parker].
func (c *consumer) Parked() bool { return c.unit.parking.any.Load() }

// Behind implements [engine.Parker]. Deliveries of other processes do not count: those free their waitlists for their
// own parts.
func (c *consumer) Behind(waitlists []string, seq int64) (int, error) {
	u := c.unit
	if !u.parking.any.Load() {
		return -1, nil
	}
	if err := u.in.enter(); err != nil {
		return -1, err
	}
	defer u.in.mu.Unlock()
	if c.gone {
		return -1, nil
	}
	return slices.IndexFunc(waitlists, func(waitlist string) bool {
		l := u.parking.waitlists[waitlist]
		return l != nil && (u.waitsBefore(l.parked, seq) || u.waitsBefore(l.others, seq))
	}), nil
}

// waitsBefore reports whether this process has not in hand one of the deliveries before that of an event.
func (rd *reading) waitsBefore(all []int64, seq int64) bool {
	for _, one := range all {
		if one >= seq {
			break
		}
		if f := rd.flights.of(one); f == nil && rd.sub.rows[one] != nil || f != nil && f.ended {
			return true
		}
	}
	return false
}

// Free implements [engine.Parker].
func (c *consumer) Free(waitlist string, n int) {
	u := c.unit
	if !u.parking.any.Load() {
		return
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	switch {
	case c.gone:
		return
	case waitlist == "":
		u.freeTurns(n)
	default:
		u.freeNext(waitlist, n, nil)
	}
	u.wake()
}

// freeNext frees the next n deliveries of a waitlist, because another one has ended; nil for none.
func (u *unit) freeNext(waitlist string, n int, by *flight) {
	l, p := u.parking.waitlists[waitlist], &u.parking
	for at := 0; l != nil && n > 0 && at < len(l.parked); {
		seq := l.parked[at]
		f, r := u.flights.of(seq), u.sub.rows[seq]
		switch {
		case f != nil && !f.ended: // it is in hand, out of turn
			at++
		case f != nil: // its row is not stored yet
			if n--; p.early == nil {
				p.early = map[int64]*flight{}
			}
			p.early[seq] = by
			l.parked, l.others = removeSeq(l.parked, seq), insertSeq(l.others, seq)
		case r != nil && r.parked():
			n--
			u.free(r, by)
		default: // its record was deleted
			p.remove(seq, waitlist)
		}
	}
}

// freeTurns frees one delivery of each of the next n waitlists, until it has come to all of them.
func (u *unit) freeTurns(n int) {
	p := &u.parking
	if len(p.turns) == 0 {
		for name, l := range p.waitlists {
			if len(l.parked) > 0 {
				p.turns = append(p.turns, name)
			}
		}
		slices.SortFunc(p.turns, func(a, b string) int { return cmp.Compare(p.waitlists[a].parked[0], p.waitlists[b].parked[0]) })
	}
	for ; n > 0 && len(p.turns) > 0; p.turns = p.turns[1:] {
		if l := p.waitlists[p.turns[0]]; l != nil && len(l.parked) > 0 {
			u.freeNext(l.name, 1, nil)
			n--
		}
	}
}

// free makes a parked delivery due now, which the next cursor of its part says.
func (u *unit) free(r *row, by *flight) {
	p := &u.parking
	p.removeRow(r)
	if r.Row = r.Freed(u.in.clock.now()); len(p.freed) < mostFreed {
		p.freed = append(p.freed, freed{r, by})
	}
	u.queueRow(r)
	u.touch(r.slot(), false)
	p.freedAt = u.changes
}

// freeAgain makes due what the last owner of a part has freed, in the same order.
func (u *unit) freeAgain(at int) {
	for _, seq := range u.sub.parts[at].Freed {
		if r := u.sub.rows[seq]; r != nil && r.parked() && covers(at, r.slot()) {
			u.free(r, nil)
		}
	}
}

// freedOf adds to each position the deliveries that were freed, but for those that the plan settles, and those whose
// predecessors end later.
func (rd *reading) freedOf(p *plan, all *[1 + partCount]position) {
	left := rd.parking.freed[:0]
	for _, one := range rd.parking.freed {
		r := one.row
		if rd.sub.rows[r.Seq] != r { // it has had its turn
			continue
		}
		if one.by != nil && one.by.stored {
			one.by = nil
		}
		left = append(left, one)
		if f := rd.flights.of(r.Seq); (f == nil || f.plan != p) && p.ends(one.by) {
			at := &all[rd.sub.at(r.slot())]
			at.freed = append(at.freed, r.Seq)
		}
	}
	clear(rd.parking.freed[len(left):])
	rd.parking.freed = left
}

// ends reports whether a plan stores the end of a delivery, or that is stored; nil for none.
func (p *plan) ends(f *flight) bool { return f == nil || f.stored || f.plan == p }

// isFreed reports whether a parked delivery is stored as one that was freed before.
func (rd *reading) isFreed(f *flight) bool {
	by, early := rd.parking.early[f.record.Seq]
	return early && f.plan.ends(by)
}

// storesFreed reports whether the cursors do not say yet what was freed.
func (rd *reading) storesFreed() bool {
	p := &rd.parking
	return p.freedAt > rd.stored || slices.ContainsFunc(p.freed, func(one freed) bool { return one.by != nil && !one.by.stored })
}

// ends notes that a delivery has ended in this way, which is to be stored.
func (rd *reading) ends(f *flight) {
	p, seq := &rd.parking, f.record.Seq
	if p.removeRow(rd.sub.rows[seq]); rd.hands(f.slot()) {
		p.put(seq, f.how.Waitlist, f.how.Key, f.how.Due.IsZero())
	}
}

// freeAll frees the next delivery of each waitlist, because another one has ended.
func (u *unit) freeAll(waitlists []string, by *flight) {
	for _, waitlist := range waitlists {
		u.freeNext(waitlist, 1, by)
	}
	if len(waitlists) > 0 {
		u.wake()
	}
}

// endStored notes that the end of a delivery is stored, with this row; nil for none.
func (u *unit) endStored(f *flight, r *row) {
	if f.how.Waitlist != "" { // the row may say otherwise
		u.parking.remove(f.record.Seq, f.how.Waitlist, f.how.Key)
		if r == nil || !r.State.Open() { // it was cancelled: others do not wait for it any more
			u.freeAll([]string{f.how.Waitlist, f.how.Key}, nil)
		}
	}
	by, early := u.parking.early[f.record.Seq]
	delete(u.parking.early, f.record.Seq)
	switch {
	case r == nil:
	case early && r.parked():
		u.free(r, by)
	default:
		u.queueRow(r)
	}
}

// leaveWaitlists takes the deliveries of a part out of their waitlists: they are not handed out any more.
func (rd *reading) leaveWaitlists(at int) {
	leaves := func(seq int64) bool {
		if f := rd.flights.of(seq); f != nil {
			return covers(at, f.slot())
		}
		r := rd.sub.rows[seq]
		return r == nil || covers(at, r.slot())
	}
	for _, l := range rd.parking.waitlists {
		l.parked, l.others = slices.DeleteFunc(l.parked, leaves), slices.DeleteFunc(l.others, leaves)
		rd.parking.tidy(l)
	}
}

// forgetWaitlists is leaveWaitlists for a part that is not this process's any more. Rows that were freed there are
// as their records say.
func (rd *reading) forgetWaitlists(at int) {
	rd.leaveWaitlists(at)
	maps.DeleteFunc(rd.parking.early, func(seq int64, _ *flight) bool { return rd.flights.of(seq) == nil })
	rd.parking.freed = slices.DeleteFunc(rd.parking.freed, func(one freed) bool {
		r := one.row
		if !covers(at, r.slot()) {
			return false
		}
		if rd.sub.rows[r.Seq] == r {
			r.State, r.Due, r.Set = ledger.Held, time.Time{}, time.Time{}
		}
		return true
	})
}

// starved is how many dispositions may be unwritten before nothing further of the log is handed out: parked deliveries
// are to leave memory. The deliveries come again when half of them are written.
const starved = 4096

// starving reports whether so many are unwritten.
func (rd *reading) starving() bool {
	most := starved
	if rd.parking.starves {
		most /= 2
	}
	rd.parking.starves = rd.parking.any.Load() && len(rd.queue) >= most
	return rd.parking.starves
}
