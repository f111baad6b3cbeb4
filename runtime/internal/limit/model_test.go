package limit

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/declare"
)

// step is something that happens. Numbers that are too large count from the beginning again.
type step struct{ What, Owner, At, Needs, Rank int }

// Whatever schedulers and calls do with limits, nested and by two at a time: no limit is
// exceeded but by force, all comes to rest, nobody waits at rest who could go on, equals have
// their turn in their order, and in the end all have had it and everything is free.
func TestWhateverHappensNobodyWaitsWhoCouldGoOnAndNoLimitIsExceeded(t *testing.T) {
	one := rapid.Custom(func(r *rapid.T) step {
		return step{
			rapid.IntRange(0, len(happenings)-1).Draw(r, "what"), rapid.IntRange(0, 2).Draw(r, "owner"), rapid.IntRange(0, 5).Draw(r, "at"),
			rapid.IntRange(1, 1<<5-1).Draw(r, "needs"), rapid.IntRange(0, 2).Draw(r, "rank"),
		}
	})
	check := func(r *rapid.T) {
		places := rapid.SliceOfN(rapid.IntRange(1, 3), 3, 3).Draw(r, "places")
		ranked := rapid.Bool().Draw(r, "ranked")
		all := rapid.SliceOfN(one, rapid.SampledFrom([]int{1, 20, 50}).Draw(r, "at least"), 100).Draw(r, "steps")
		var problem string
		synctest.Test(t, func(t *testing.T) {
			m := newModel(places, ranked)
			for n, s := range all {
				if happenings[s.What].do(m, s); m.settled() != "" {
					problem = fmt.Sprintf("step %d, %s: %s", n, happenings[s.What].name, m.problem)
					break
				}
			}
			if m.end(); problem == "" && m.problem != "" {
				problem = "in the end: " + m.problem
			}
		})
		if problem != "" {
			r.Fatal(problem)
		}
	}
	for range 10 { // 100 are quick, and few
		rapid.Check(t, check)
	}
}

var happenings = []struct {
	name string
	do   func(m *model, s step)
}{
	{"a delivery comes", func(m *model, s step) { m.arrive(s, false) }},
	{"a delivery comes", func(m *model, s step) { m.arrive(s, false) }},
	{"an urgent delivery comes", func(m *model, s step) { m.arrive(s, true) }},
	{"a handler returns", func(m *model, s step) { m.one(s, anyAttempt).end() }},
	{"a handler returns", func(m *model, s step) { m.one(s, anyAttempt).end() }},
	{"a handler waits", func(m *model, s step) { m.one(s, anyAttempt).wait() }},
	{"a handler waits", func(m *model, s step) { m.one(s, anyAttempt).wait() }},
	{"the wait of a handler is over", func(m *model, s step) { m.one(s, waits).ask() }},
	{"the wait of a handler is over", func(m *model, s step) { m.one(s, waits).ask() }},
	{"a handler waits by force no longer", func(m *model, s step) { m.one(s, waits).force() }},
	{"a handler calls", func(m *model, s step) { m.call(m.one(s, anyAttempt), s) }},
	{"other code calls", func(m *model, s step) { m.call(nil, s) }},
	{"a call ends", func(m *model, s step) { m.endCall(s.At) }},
	{"a call ends", func(m *model, s step) { m.endCall(s.At) }},
	{"a delivery is cancelled", func(m *model, s step) { m.owner(s).cancel(s.At) }},
	{"a subscription is paused or goes on", func(m *model, s step) { o := m.owner(s); o.pause(!o.paused) }},
	{"a key is used by another or not", func(m *model, s step) { m.one(s, anyAttempt).useKey() }},
}

// model knows who has what, in its own way.
type model struct {
	set     *Set
	uses    []Use
	owners  []*modelOwner
	places  []*modelPlace
	calls   []*modelCall
	ranked  bool
	clock   int // counts those that come into line
	before  map[Use]int
	forced  bool // since the last look
	problem string
}

// modelPlace is in use while somebody uses it and it is not lent.
type modelPlace struct {
	use   Use
	own   bool
	calls int
	lent  bool

	beside map[*modelCall]bool // that have taken it back while the handler waits; nil for none
}

func newModel(places []int, ranked bool) *model {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1}, declare.Limit{Name: "b", AtOnce: 2}, declare.Limit{Name: "c", AtOnce: 1}, declare.Limit{Name: "d", AtOnce: 2})
	m := &model{set: set, ranked: ranked, before: map[Use]int{}}
	m.uses = []Use{{set.Limit("a"), ""}, {set.Limit("a"), "x"}, {set.Limit("b"), ""}, {set.Limit("c"), ""}, {set.Limit("d"), ""}}
	for n, n2 := range places {
		o := &modelOwner{m: m, name: fmt.Sprint("owner ", n), places: n2}
		o.owner = set.NewOwner(func() { o.signalled.Store(true) })
		m.owners = append(m.owners, o)
	}
	return m
}

func (m *model) wrong(format string, args ...any) {
	if m.problem == "" {
		m.problem = fmt.Sprintf(format, args...)
	}
}

func (m *model) owner(s step) *modelOwner { return m.owners[s.Owner%len(m.owners)] }

// needs returns two uses at most.
func (m *model) needs(bits int) (uses []Use) {
	for i, u := range m.uses {
		if bits&(1<<i) != 0 && len(uses) < 2 {
			uses = append(uses, u)
		}
	}
	return uses
}

func (m *model) used(u Use) (n int) {
	for _, p := range m.places {
		if p.use == u && !p.lent {
			n++
		}
	}
	return n
}

// room tells whether there is room for uses, of which several may be the same.
func (m *model) room(uses []Use) bool {
	return !slices.ContainsFunc(uses, func(u Use) bool { return m.used(u)+min(count(uses, u), u.AtOnce) > u.AtOnce })
}

func count(uses []Use, u Use) (n int) {
	for _, other := range uses {
		if other == u {
			n++
		}
	}
	return n
}

// free forgets places that nobody uses.
func (m *model) free() {
	m.places = slices.DeleteFunc(m.places, func(p *modelPlace) bool { return !p.own && p.calls == 0 })
}

func (m *model) add(p *modelPlace) *modelPlace {
	m.places = append(m.places, p)
	return p
}

// settled lets all do what they can, and returns what is wrong then.
func (m *model) settled() string {
	for n, rest := 0, false; !rest; n++ {
		synctest.Wait()
		m.gotRoom()
		rest = true
		for _, o := range m.owners {
			if o.listening && !o.present() { // its guest has left, because the loan has ended
				o.listening = false
				o.owner.Leave()
			}
			if o.signalled.Load() && o.present() {
				o.turn()
				rest = false
			}
			if n > 100 {
				m.wrong("some are woken again and again")
				rest = true
			}
		}
	}
	for _, u := range m.uses {
		used := m.used(u)
		if b := u.buckets[u.Key]; b != nil && b.used != used || b == nil && used > 0 {
			m.wrong("%d places of %s %s are in use, not those of the bucket", used, u.Name, u.Key)
		}
		if used > max(u.AtOnce, m.before[u]) && !m.forced {
			m.wrong("%d are at work in %s %s", used, u.Name, u.Key)
		}
		m.before[u] = used
	}
	m.forced = false
	for _, c := range m.calls {
		if c.waits() && m.room([]Use{c.use}) {
			m.wrong("a call waits for %s %s, which has room", c.use.Name, c.use.Key)
		}
	}
	for _, o := range m.owners {
		o.check()
	}
	return m.problem
}

// inOrder checks that no equal is in line that came earlier and could begin. A call can overtake
// the deliveries of an owner that has just begun another one.
func (m *model) inOrder(uses []Use, since int, call bool) {
	for _, c := range m.calls {
		if (call || !m.ranked) && c.waits() && c.since < since && slices.Equal(uses, []Use{c.use}) {
			m.wrong("a call that came earlier still waits for %s %s", c.use.Name, c.use.Key)
		}
	}
	for _, o := range m.owners {
		for _, d := range o.parked {
			if !call && o.listening && !o.signalled.Load() && o.eligible(d) && d.since < since && slices.Equal(d.uses, uses) && !m.ranked {
				m.wrong("a delivery of %s that came earlier still waits for %s %s", o.name, uses[0].Name, uses[0].Key)
			}
		}
	}
}

// end ends everything. All have to have their turn.
func (m *model) end() {
	for n := 0; m.problem == "" && m.settled() == ""; n++ {
		left := len(m.calls)
		for _, c := range m.calls {
			c.cancel()
		}
		for _, o := range m.owners {
			o.pause(false)
			left += len(o.attempts) + len(o.parked) + len(o.pending)
			for _, a := range slices.Clone(o.attempts) {
				if a.keyUsed {
					a.useKey()
				}
				if a.lends {
					a.ask()
				} else {
					a.end()
				}
			}
		}
		for range m.calls {
			m.endCall(0)
		}
		if left == 0 {
			break
		}
		if n > 200 {
			m.wrong("some never have their turn")
		}
	}
	for _, c := range m.calls { // so that the bubble ends
		c.cancel()
	}
	if m.problem == "" && (len(m.set.line) > 0 || len(m.places) > 0) {
		m.wrong("%d are in line, %d places are in use", len(m.set.line), len(m.places))
	}
}
