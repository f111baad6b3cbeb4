package breaker

// remembered is how many pieces of work with a failure in the window a breaker
// knows. With as many, all of Policy.MinSamples are different ones; when more
// fail, those beyond are counted each time.
const remembered = LimitSamples

// failures remembers of which work the latest outcome is a failure, and in which
// step of the window it lies. What succeeded is not remembered: it is not tried
// again. The zero value is empty, and looking into it costs nothing.
type failures struct{ steps map[int64]uint64 }

// take forgets the failure of a piece of work, and returns in which step it was.
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

// forget drops the failures that lie in earlier steps.
func (f *failures) forget(oldest uint64) {
	for work, step := range f.steps {
		if step < oldest {
			delete(f.steps, work)
		}
	}
	f.shrink()
}

// move is told where each step has gone when the window was resized.
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

// shrink gives the memory of many failures back, which a map keeps.
func (f *failures) shrink() {
	if len(f.steps) == 0 {
		f.steps = nil
	}
}
