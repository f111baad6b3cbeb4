package buslog

import (
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/ledger"
)

// While a deploy is under way, processes share subscriptions whose programs do not know the
// same versions of the event types. A delivery whose version its owner does not know is held
// (dispatch/held.go). The rows say so to all processes, and the record of members says who
// knows what. So a part, or a whole, that has such deliveries is let go of by an owner who
// does not know them, and taken by a process that does: it looks at them again when it
// acquires the part. Nobody else takes it as long as such a process is alive. Later the part
// moves as any other: a process that does not know the next event of that version lets go of
// it again.

// forVersion reports whether a delivery is held because its owner did not know its version.
func (r *row) forVersion() bool { return r.State == ledger.Held && !r.HeldSince.IsZero() }

// countNewer counts such deliveries. The caller holds mu.
func (s *sub) countNewer(r *row, by int) {
	if r != nil && r.forVersion() {
		s.newer += by
	}
}

// knows reports whether a process with these versions can read a delivery. The caller holds mu.
func (v *logView) knows(versions map[string]int, r *row) bool {
	return slices.ContainsFunc(v.registry.namesOf(r.Type), func(name string) bool { return versions[name] >= r.Version })
}

// whose says who should have a part, or the whole, because of the versions of what is held there.
type whose int

const (
	anybodys whose = iota
	us             // this process knows some of it
	others         // it knows nothing of it, and another process knows some
)

// isFor says whose a part is, or the whole. The caller holds mu.
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

// isKnown reports whether another process that handles a subscription can read a delivery. The caller holds mu.
func (cl *cluster) isKnown(s *sub, r *row) bool {
	for instance, m := range cl.members.Processes {
		handles := slices.Contains(m.Subs, s.ID) || slices.Contains(m.Wholes, s.ID)
		if handles && instance != cl.instance && !cl.dead[instance] && cl.knows(m.Versions, r) {
			return true
		}
	}
	return false
}

// offer lets go of what other processes should have because they know its versions. It reports
// whether to call it again. The caller holds mu.
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
