package breaker

import "time"

// steps is the number of steps that a window is divided into.
const steps = 60

// count counts outcomes.
type count struct{ samples, failures int }

func (c *count) add(o count) {
	c.samples += o.samples
	c.failures += o.failures
}

func (c *count) remove(o count) {
	c.samples -= o.samples
	c.failures -= o.failures
}

// sliding counts the outcomes of a window that slides in steps: the current step
// and the 59 before it. Its memory is constant.
type sliding struct {
	step   time.Duration
	end    time.Duration // when the newest step ends, by the breaker's clock
	number uint64        // of the newest step; steps are numbered in order
	ring   [steps]count
	total  count
}

// stepOf is at least 1, so that a policy that is not valid does not divide by 0.
func stepOf(window time.Duration) time.Duration { return max(1, window/steps) }

// advance forgets the steps that have left the window. It reports whether one of
// them had a failure.
func (s *sliding) advance(at time.Duration) (forgotten bool) {
	if at < s.end {
		return false
	}
	before := s.total.failures
	passed := (at-s.end)/s.step + 1
	for i := range uint64(min(passed, steps)) {
		c := s.at(s.number + 1 + i) // the place of the oldest
		s.total.remove(*c)
		*c = count{}
	}
	s.number += uint64(passed)
	s.end += passed * s.step
	return s.total.failures < before
}

// oldest returns the number of the oldest step in the window.
func (s *sliding) oldest() uint64 { return s.number - min(s.number, steps-1) }

// record adds an outcome to the newest step.
func (s *sliding) record(failed bool) {
	c := count{samples: 1}
	if failed {
		c.failures = 1
	}
	s.add(s.number, c)
}

// add adds to a step of the window.
func (s *sliding) add(step uint64, c count) {
	s.at(step).add(c)
	s.total.add(c)
}

// remove undoes add.
func (s *sliding) remove(step uint64, c count) {
	s.at(step).remove(c)
	s.total.remove(c)
}

func (s *sliding) at(step uint64) *count { return &s.ring[step%steps] }

// clear forgets every outcome.
func (s *sliding) clear() { s.ring, s.total = [steps]count{}, count{} }

// resize changes the length of the window; the window must have been advanced to
// at. All outcomes of an old step get the age of the newest that the step can hold,
// so that none is forgotten too early. The function that it returns maps the number
// of an old step to a new one; it returns false if the step has left the window.
func (s *sliding) resize(window, at time.Duration) (now func(step uint64) (uint64, bool)) {
	step := stepOf(window)
	if step == s.step {
		return func(step uint64) (uint64, bool) { return step, true }
	}
	old := *s
	*s = sliding{step: step, end: at + step, number: old.number + steps}
	now = func(step uint64) (uint64, bool) {
		newest := old.end - time.Duration(old.number-step)*old.step - 1
		back := 1 + max(0, at-newest)/s.step // the newest step begins now
		return s.number - uint64(back), back < steps
	}
	for i := range min(old.number+1, steps) {
		if moved, ok := now(old.number - i); ok {
			s.add(moved, *old.at(old.number - i))
		}
	}
	return now
}
