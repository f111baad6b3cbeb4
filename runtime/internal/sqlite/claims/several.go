package claims

import "runtime/debug"

// Start is a worker and what it is about to be busy with.
type Start struct {
	Place      *Place
	Seq        int64
	UpTo       int64
	Executions int // of the event so far
}

// BeginAll is Begin for the events of a batch of one subscription. Each has a worker and a
// claim of its own, so after a crash each event is found that had begun. The claims say that
// it was a batch.
func (c *File) BeginAll(subscription int64, all []Start) {
	c.each(all, func(s *Start) bool {
		s.Place.begin(c.life, subscription, s.Seq, s.UpTo, s.Executions)
		s.Place.last.Batch = true
		return true
	})
}

// EndAll is End for several workers.
func (c *File) EndAll(all []Start) {
	c.each(all, func(s *Start) bool { return s.Place.change(s.Seq, 0, false) })
}

// each changes the claims of several workers, and writes those that it has changed.
func (c *File) each(all []Start, change func(s *Start) bool) {
	for len(all) > 0 {
		n := c.writeSeveral(all, change)
		if n < len(all) {
			c.giveUpMapping(all[n].Place) // and writes what could not be written
			n++
		}
		all = all[n:]
	}
}

// writeSeveral returns how many claims it has changed and written: all of them, unless there
// is nothing behind the mapping any more.
func (c *File) writeSeveral(all []Start, change func(s *Start) bool) (n int) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if n < len(all) {
			recover()
			all[n].Place.mu.Unlock()
		}
	}()
	for n < len(all) {
		p := all[n].Place
		p.mu.Lock()
		if change(&all[n]) {
			if at, mapped := c.at(p); mapped {
				p.last.encode(c.mapped[at : at+claimSize])
			} else {
				c.write(p)
			}
		}
		p.mu.Unlock()
		n++
	}
	return n
}
