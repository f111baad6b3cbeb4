package buslog

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The parts of a subscription are divided fairly between the processes that share it. There is no
// coordinator: all know from one record which processes they are, and from the cursors which has what.
//
//   - No process claims more than its share, which is partCount by the number of processes, rounded
//     up, as long as another one has less than that rounded down.
//   - A process that has more lets go of half of what is too much, at least of one part, every second.
//   - A part that is unclaimed for a while may be claimed by any process.
//   - What has events of a newer version is for processes that know it: see isFor.

// moveAgain is how long a process waits after it has let go of parts.
const moveAgain = time.Second

// unclaimed is how long a part may be free before any process takes it, fair or not.
const unclaimed = 2 * time.Second

// stayTime is how long the handlers of a part may take to end, before the process keeps it
// and lets go of another one.
const stayTime = 5 * time.Second

// memberRecord is the record of the processes that share subscriptions.
type memberRecord struct {
	Processes map[string]member `json:"processes"` // by instance
}

// member is one of them.
type member struct {
	PID  int      `json:"pid"`
	Host string   `json:"host,omitempty"`
	Subs []string `json:"subscriptions"` // the ids of those that it shares
	// Wholes are those that it handles, or waits for, and does not share. Versions are the newest
	// versions that it can read, of types that have several, by all names that it knows them by.
	Wholes   []string       `json:"wholes,omitempty"`
	Versions map[string]int `json:"versions,omitempty"`
}

// join puts this process into the record, with what it shares now, and takes out those that
// are dead. If the servers do not say whether they have stored that, the record does.
func (cl *cluster) join(ctx context.Context) error {
	return cl.patiently(ctx, func() error { return cl.edit(ctx, cl.memberMsg) })
}

// memberMsg returns the record as it should be, if it is not.
func (cl *cluster) memberMsg() ([]*stream.Msg, error) {
	r := memberRecord{maps.Clone(cl.members.Processes)}
	if r.Processes == nil {
		r.Processes = map[string]member{}
	}
	same := true
	for instance := range cl.members.Processes {
		if cl.dead[instance] {
			delete(r.Processes, instance)
			same = false
		}
	}
	me := member{PID: os.Getpid(), Host: cl.host}
	for _, s := range cl.inOrder() {
		switch u := cl.units[s.ID]; {
		case u == nil || u.consumer == nil || u.standsStill() || !cl.dispatching || cl.leaving:
		case u.parallel:
			me.Subs = append(me.Subs, s.ID)
		case len(cl.versions) > 0:
			me.Wholes = append(me.Wholes, s.ID)
		}
	}
	before := r.Processes[cl.instance]
	if delete(r.Processes, cl.instance); len(me.Subs)+len(me.Wholes) > 0 {
		me.Versions = maps.Clone(cl.versions)
		r.Processes[cl.instance] = me
	}
	if same && slices.Equal(before.Subs, me.Subs) && slices.Equal(before.Wholes, me.Wholes) && maps.Equal(before.Versions, me.Versions) {
		return nil, nil
	}
	data, _ := json.Marshal(r)
	return []*stream.Msg{{Subject: cl.subject(memberToken), Data: data, Only: true, Expect: stream.Expecting(cl.membersRev)}}, nil
}

// shares returns how many parts each process has that shares a subscription, and how many are free.
func (cl *cluster) shares(s *sub) (shares map[string]int, free int) {
	shares = map[string]int{}
	for instance, m := range cl.members.Processes {
		if slices.Contains(m.Subs, s.ID) && !cl.dead[instance] {
			shares[instance] = 0
		}
	}
	for _, at := range allParts {
		owner := s.parts[at].Owner
		if _, known := shares[owner]; known && !s.parts[at].Fallen {
			shares[owner]++
		} else {
			free++
		}
	}
	return shares, free
}

// lacking returns how many parts others need to have a fair share.
func lacking(shares map[string]int, me string) (lack int) {
	for instance, n := range shares {
		if instance != me {
			lack += max(partCount/len(shares)-n, 0)
		}
	}
	return lack
}

// fairClaims returns the parts that this process should take.
func (cl *cluster) fairClaims(u *unit) (from []int) {
	shares, _ := cl.shares(u.sub)
	mine, in := shares[cl.instance]
	if !in {
		return nil // it is about to join
	}
	low := partCount / len(shares)
	want := low - mine
	if lacking(shares, cl.instance) == 0 { // the rest is for any process
		want = (partCount+len(shares)-1)/len(shares) - mine
	}
	h := fnv.New32a()
	h.Write([]byte(cl.instance))
	for i := range partCount { // not all begin with the same part
		at := 1 + (i+int(h.Sum32()%partCount))%partCount
		p := &u.sub.parts[at]
		switch {
		case u.parts[at].owned || p.Owner != "" && p.Owner != cl.instance && !cl.dead[p.Owner] && !p.Fallen:
		case p.Owner == cl.instance && !p.Fallen: // it counts as its own: the answer to its takeover was lost
			from = append(from, at)
		case cl.isFor(u.sub, at) == others:
		case want > 0, cl.isFor(u.sub, at) == us, time.Since(u.freed[at]) > unclaimed && p.Owner == "" && !u.freed[at].IsZero():
			from = append(from, at)
			want--
		}
	}
	return from
}

// letGo lets go of parts that others should have. It reports whether to call it again.
func (cl *cluster) letGo(now time.Time) (again bool) {
	for _, u := range cl.units {
		again = cl.offer(u, now) || again
		if !u.parallel || !u.sub.divided() || !u.owns() || u.standsStill() {
			continue
		}
		var mine []int
		for _, at := range allParts {
			switch p := &u.parts[at]; {
			case !p.owned:
			case p.leaving && now.Sub(p.left) < stayTime:
				again = true
			default:
				if p.leaving {
					u.stay(at)
				}
				mine = append(mine, at)
			}
		}
		shares, free := cl.shares(u.sub)
		if len(shares) < 2 || u.consumer == nil {
			continue
		}
		low, high := partCount/len(shares), (partCount+len(shares)-1)/len(shares)
		much := len(mine) - high
		if lack := lacking(shares, cl.instance) - free; much <= 0 && lack > 0 {
			much = min(len(mine)-low, lack)
		}
		if much <= 0 {
			continue
		}
		if again = true; now.Sub(u.letGo) < moveAgain {
			continue
		}
		u.letGo = now
		slices.SortStableFunc(mine, func(a, b int) int { return u.begunIn(a) - u.begunIn(b) })
		for _, at := range mine[:(much+1)/2] {
			u.leave(at)
		}
	}
	return again
}

// begunIn returns how many handlers run for a part.
func (u *unit) begunIn(at int) (n int) {
	u.shut()
	for _, f := range u.flights.all {
		if f.begun && !f.ended && covers(at, f.slot()) {
			n++
		}
	}
	return n
}

// While a deploy is under way, processes share subscriptions whose programs do not know the same
// versions of the event types. A delivery whose version its owner does not know is held
// (dispatch/held.go). The rows say so to all processes, and the record of members says which
// process knows what. So a part, or a whole, that has such deliveries is let go of by an owner
// that does not know them, and taken by a process that does: it looks at them again when it
// acquires the part. No other takes it as long as such a process is alive. Later the part moves
// as any other: a process that does not know the next event of that version lets go of it again.

// forVersion reports whether a delivery is held because its owner did not know its version.
func (r *row) forVersion() bool { return r.State == ledger.Held && !r.HeldSince.IsZero() }

// countNewer counts such deliveries.
func (s *sub) countNewer(r *row, by int) {
	if r != nil && r.forVersion() {
		s.newer += by
	}
}

// knows reports whether a process with these versions can read a delivery.
func (v *logView) knows(versions map[string]int, r *row) bool {
	return slices.ContainsFunc(v.registry.namesOf(r.Type), func(name string) bool { return versions[name] >= r.Version })
}

// whose says which processes should have a part, or the whole, because of the versions of what is held there.
type whose int

const (
	anybodys whose = iota
	us             // this process knows some of it
	others         // it knows nothing of it, and another process knows some
)

// isFor says whose a part is, or the whole.
func (cl *cluster) isFor(s *sub, at int) (found whose) {
	if s.newer == 0 { // nearly always
		return anybodys
	}
	for _, r := range s.rows {
		switch {
		case !r.forVersion() || !covers(at, r.slot()):
		case cl.knows(cl.versions, r):
			return us
		case found == anybodys && cl.isKnown(s, r):
			found = others
		}
	}
	return found
}

// isKnown reports whether another process that handles a subscription can read a delivery.
func (cl *cluster) isKnown(s *sub, r *row) bool {
	for instance, m := range cl.members.Processes {
		handles := slices.Contains(m.Subs, s.ID) || slices.Contains(m.Wholes, s.ID)
		if handles && instance != cl.instance && !cl.dead[instance] && cl.knows(m.Versions, r) {
			return true
		}
	}
	return false
}

// offer lets go of what other processes should have because they know its versions. It reports whether to call it
// again.
func (cl *cluster) offer(u *unit, now time.Time) (again bool) {
	for _, at := range u.sub.live() {
		switch p := &u.parts[at]; {
		case !p.owned:
		case p.leaving && at == whole:
			if again = true; now.Sub(p.left) >= stayTime {
				u.stay(at)
			}
		case !p.leaving && u.consumer != nil && cl.isFor(u.sub, at) == others:
			if again = true; now.Sub(u.stayed) >= stayTime { // handlers of old events may take long
				u.leave(at)
			}
		}
	}
	return again
}
