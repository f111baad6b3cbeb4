package breaker

// remembered is how many pieces of work with a failure in the window a breaker
// remembers. It is the largest MinSamples. If more pieces fail, each failure of
// the others counts.
const remembered = LimitSamples

// failures remembers the work whose latest outcome is a failure, and the step of
// the window in which it failed. Successes are not remembered: they are not tried
// again. The zero value is empty.
type failures struct{ steps map[int64]uint64 }

// take removes the failure of a piece of work and returns its step.
func (f *failures) take(work int64) (step uint64, ok bool) {
	if len(f.steps) == 0 {
		return 0, false
	}
	step, ok = f.steps[work]
	delete(f.steps, work)
	return step, ok
}

func (f *failures) add(work int64, step uint64) {
	if work == 0 || len(f.steps) >= remembered {
		return
	}
	if f.steps == nil {
		f.steps = map[int64]uint64{}
	}
	f.steps[work] = step
}

// forget drops the failures in steps before oldest.
func (f *failures) forget(oldest uint64) {
	for work, step := range f.steps {
		if step < oldest {
			delete(f.steps, work)
		}
	}
	f.shrink()
}

// move renumbers the steps after the window was resized; now returns the new
// number of a step, or false if the step has left the window.
func (f *failures) move(now func(step uint64) (uint64, bool)) {
	for work, step := range f.steps {
		if moved, ok := now(step); ok {
			f.steps[work] = moved
		} else {
			delete(f.steps, work)
		}
	}
	f.shrink()
}

// shrink frees the memory of an empty map.
func (f *failures) shrink() {
	if len(f.steps) == 0 {
		f.steps = nil
	}
}
