//go:build unix

package jetstream_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// statements are what handlers in several processes of one machine say, with its clock.
type statements struct {
	mu        sync.Mutex
	all       []statement
	ended     int             // handlers
	different map[[2]int]bool // the events that they have handled, by key and number
	lives     int
}

type statement struct {
	at     time.Time
	of     *life
	begins bool
	key, n int
}

// life is a process, from its start to its end.
type life struct {
	number  int
	absence []absence
	killed  time.Time
}

// absence is when a process was killed or stopped: it may not have stored what it has handled
// before. Until known it may handle what is not its own any more.
type absence struct{ since, known time.Time }

// missed is for how long a process that goes on may not know yet that others have taken over
// what it had: until it has read their cursors.
const missed = 5 * time.Second

func newStatements() *statements { return &statements{different: map[[2]int]bool{}} }

func (x *statements) born() *life {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lives++
	return &life{number: x.lives}
}

// away says that a process is about to be killed, or stopped.
func (x *statements) away(of *life) {
	x.mu.Lock()
	defer x.mu.Unlock()
	of.absence = append(of.absence, absence{since: time.Now()})
}

// back says that it goes on.
func (x *statements) back(of *life) {
	x.mu.Lock()
	defer x.mu.Unlock()
	of.absence[len(of.absence)-1].known = time.Now().Add(missed)
}

// dead says that it was killed.
func (x *statements) dead(of *life) {
	x.mu.Lock()
	defer x.mu.Unlock()
	of.killed = time.Now()
	of.absence[len(of.absence)-1].known = of.killed
}

// stale reports whether a process may handle, at a time, what is not its own any more.
func (of *life) stale(at time.Time) bool {
	return slices.ContainsFunc(of.absence, func(a absence) bool { return at.After(a.since) && at.Before(a.known) })
}

// unclean returns how long after a time a process was killed or stopped.
func (of *life) unclean(at time.Time) (after time.Duration, ok bool) {
	for _, a := range of.absence {
		if at.Before(a.known) {
			return max(a.since.Sub(at), 0), true
		}
	}
	return 0, false
}

// hear takes a line.
func (x *statements) hear(of *life, line string) {
	var word string
	var at int64
	one := statement{of: of}
	if _, err := fmt.Sscanf(line, "%s key%d %d %d", &word, &one.key, &one.n, &at); err != nil {
		return
	}
	one.at, one.begins = time.Unix(0, at), word == "begin"
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all = append(x.all, one); !one.begins {
		x.ended++
		x.different[[2]int{one.key, one.n}] = true
	}
}

// handled returns how many handlers have ended.
func (x *statements) handled() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended
}

// check compares the order in which the events of each key were handled with that in which they
// were published: with the numbers 0, 1, 2 and so on, so many of each key.
func (x *statements) check(t *testing.T, published []int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	slices.SortStableFunc(x.all, func(a, b statement) int { return a.at.Compare(b.at) })
	type event struct{ key, n int }
	type ending struct {
		of *life
		at time.Time
	}
	done, running := map[event]ending{}, map[int]map[*life]int{}
	problems, repeats, overlaps, stale, oldest := 0, 0, 0, 0, time.Duration(0)
	problem := func(format string, args ...any) {
		if problems++; problems <= 10 {
			t.Errorf(format, args...)
		}
	}
	for _, s := range x.all {
		this := event{s.key, s.n}
		if running[s.key] == nil {
			running[s.key] = map[*life]int{}
		}
		before, again := done[this]
		lost, after := false, time.Duration(0)
		if again {
			after, lost = before.of.unclean(before.at)
		}
		if !s.begins {
			if running[s.key][s.of]--; !again || lost { // what is stored stays so
				done[this] = ending{s.of, s.at}
			}
			continue
		}
		_, inOrder := done[event{s.key, s.n - 1}]
		switch inOrder = inOrder || s.n == 0; {
		case inOrder && !again:
		case s.of.stale(s.at):
			stale++
		case lost:
			repeats++
			oldest = max(oldest, after)
		case again:
			problem("key %d: event %d was handled by process %d, and comes again in process %d", s.key, s.n, before.of.number, s.of.number)
		default:
			problem("key %d: event %d begins in process %d before %d was handled", s.key, s.n, s.of.number, s.n-1)
		}
		for other, handlers := range running[s.key] {
			switch {
			case handlers == 0 || !other.killed.IsZero() && s.at.After(other.killed): // its handlers have ended with it
			case s.of.stale(s.at) || other.stale(s.at):
				overlaps++
			default:
				problem("key %d: event %d begins in process %d while process %d handles another", s.key, s.n, s.of.number, other.number)
			}
		}
		running[s.key][s.of]++
	}
	for key, n := range published {
		for i := range n {
			if _, ok := done[event{key, i}]; !ok {
				problem("key %d: event %d was never handled", key, i)
			}
		}
	}
	if problems > 10 {
		t.Errorf("and %d more", problems-10)
	}
	t.Logf("%d events handled in order of their keys by %d processes, with %d problems. Between an unclean death and its fence:", len(done), x.lives, problems)
	t.Logf("%d handled again, because the process was killed or stopped before it had stored the success (at most %v after the handler had ended)", repeats, oldest.Round(time.Millisecond))
	t.Logf("%d begun out of order in a process that was stopped and did not know yet that others had taken over; %d beside a handler of the same key elsewhere", stale, overlaps)
}
