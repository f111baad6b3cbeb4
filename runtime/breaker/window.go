package breaker

import "time"

// steps is into how many a window is divided.
const steps = 60

// count is of outcomes.
type count struct{ samples, failures int }

func (c *count) add(o count) {
	c.samples += o.samples
	c.failures += o.failures
}

func (c *count) remove(o count) {
	c.samples -= o.samples
	c.failures -= o.failures
}

// sliding counts the outcomes of a window that slides in steps: the newest
// step, which is under way, and the 59 before it. Its memory is constant.
type sliding struct {
	step   time.Duration
	end    time.Duration // when the newest step ends, by the breaker's clock
	newest int           // the newest step's index
	ring   [steps]count
	total  count
}

// stepOf is at least 1, so that a policy that is not valid does not divide by 0.
func stepOf(window time.Duration) time.Duration { return max(1, window/steps) }

// advance forgets the steps that have left the window.
func (s *sliding) advance(at time.Duration) {
	if at < s.end {
		return
	}
	passed := (at-s.end)/s.step + 1
	for range min(passed, steps) {
		s.newest = (s.newest + 1) % steps
		s.total.remove(s.ring[s.newest])
		s.ring[s.newest] = count{}
	}
	s.end += passed * s.step
}

// record adds an outcome to the newest step.
func (s *sliding) record(failed bool) {
	c := count{samples: 1}
	if failed {
		c.failures = 1
	}
	s.add(0, c)
}

// add adds to the step that lies so many before the newest.
func (s *sliding) add(back int, c count) {
	s.ring[s.index(back)].add(c)
	s.total.add(c)
}

func (s *sliding) index(back int) int { return (s.newest - back + steps) % steps }

// clear forgets every outcome.
func (s *sliding) clear() { s.ring, s.total = [steps]count{}, count{} }

// resize changes the length of the window at a moment to which it has been
// advanced. All outcomes of an old step are taken for as old as the newest that
// it can hold, so that none is forgotten too early.
func (s *sliding) resize(window, at time.Duration) {
	step := stepOf(window)
	if step == s.step {
		return
	}
	old := *s
	*s = sliding{step: step, end: at + step}
	for i := range steps {
		newest := old.end - time.Duration(i)*old.step - 1
		age := max(0, at-newest)
		if back := 1 + age/step; back < steps { // the newest step begins now
			s.add(int(back), old.ring[old.index(i)])
		}
	}
}
