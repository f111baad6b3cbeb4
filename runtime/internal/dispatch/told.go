package dispatch

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// What comes of an attempt is told to the program's observers before it is settled, so that whoever waits for a
// delivery finds them told. But an observer may block. So there are three steps:
//
//   - The attempt is decided and counted while its mu is held: over is true, and what becomes of it is known.
//   - The observers are told while no lock is held: by the worker, or on a goroutine of its own if the deadline or a
//     shutdown has decided.
//   - The attempt is settled. Until then it owes that. If telling takes too long, somebody else pays: a shutdown, or
//     whoever leaves the worker behind.
//
// If nobody is to be told, an attempt that is decided is settled at once.

// owing is what an attempt owes that is over.
type owing uint8

const (
	owesNothing     owing = iota
	owesDone              // it has succeeded
	owesNext              // the next member of its group has its turn
	owesDisposition       // that of its extras
)

// tell keeps what tells observers, until the attempt is told; nil for nothing. The caller holds mu.
func (a *Attempt) tell(f func()) {
	if f == nil {
		return
	}
	if j := a.judged(); j != nil {
		j.reports = append(j.reports, report{a, f})
		return
	}
	x := a.extras()
	x.reports = append(x.reports, f)
}

// judged is where the dispositions of the batch are kept while it is judged; else nil.
func (a *Attempt) judged() *judged {
	if a.batch == nil {
		return nil
	}
	return a.batch.judged
}

// settle gives the disposition on the delivery, at once if nobody is to be told. The caller holds mu.
func (a *Attempt) settle(v engine.Disposition) {
	v.NotCalled = v.NotCalled || a.run.uncalled
	if j := a.judged(); j != nil {
		j.add(a.run, v)
		return
	}
	x := a.extra.Load()
	if x == nil || x.reports == nil {
		a.run.site.settler.settle(&a.run.Item, &v)
		return
	}
	x.disposition, x.settled = v, make(chan struct{})
	a.owes = owesDisposition
}

// goOn lets the next member of the group have its turn. The caller holds mu.
func (a *Attempt) goOn() {
	a.handled = true
	a.run.done = append(a.run.done, a.handler.Name)
	if x := a.extra.Load(); a.handler.Observed || x != nil && x.reports != nil {
		a.owes = owesNext
	}
}

// tellAll tells the observers of an attempt that was decided at a time, when it owed this. It holds no lock.
func (a *Attempt) tellAll(owed owing, now time.Time) {
	x := a.extra.Load()
	switch {
	case x != nil && x.reports != nil:
		for _, f := range x.reports {
			f()
		}
	case owed == owesDone, owed == owesNext:
		a.handler.Count.TellHandled(a, now, a.staged())
	}
}

// tellApart is tellAll on a goroutine of its own, which is left behind if an observer blocks, and pays.
func (a *Attempt) tellApart(owed owing) {
	if owed == owesNothing {
		return
	}
	guard.InTime(func() { a.tellAll(owed, time.Now()) })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pay(true)
}

// pay settles what the attempt owes. It is forced if the worker has not come so far: then it goes no further with the
// delivery. The caller holds mu.
func (a *Attempt) pay(forced bool) {
	owed := a.owes
	a.owes = owesNothing
	switch owed {
	case owesDone:
		a.run.site.settler.settle(&a.run.Item, &engine.Disposition{Kind: engine.Done, Staged: a.staged()})
	case owesNext:
		if forced {
			a.handled = false
			v := a.run.release()
			a.run.site.settler.settle(&a.run.Item, &v)
		}
	case owesDisposition:
		x := a.extra.Load()
		a.run.site.settler.settle(&a.run.Item, &x.disposition)
		close(x.settled)
	}
}

// afterwards calls the program's code that follows a handler, on its worker: it tells the observers, unless the attempt
// was over before, and settles. Like a handler it may be left behind.
func (a *Attempt) afterwards(late bool, owed owing, now time.Time, err error) {
	if late {
		a.run.site.cfg.Logger.Debug("a handler returned after its attempt was over", a.logged("error", err)...)
		if owed == owesDisposition {
			<-a.extra.Load().settled
		}
	} else {
		if a.late(now) { // so the alarm does not come for it
			a.mu.Lock()
			a.leaveSoon(a.leave)
			a.mu.Unlock()
		}
		a.tellAll(owed, now)
		a.mu.Lock()
		a.pay(false)
		a.mu.Unlock()
	}
	a.released()
}

// tellAll is [Attempt.tellAll] for a batch that was judged.
func (j *judged) tellAll(now time.Time) {
	for _, r := range j.reports {
		if r.tell != nil {
			r.tell()
		} else {
			r.of.handler.Count.TellHandled(r.of, now, r.of.staged())
		}
	}
	if j.ended != nil {
		j.ended()
	}
}

// tellApart is [Attempt.tellApart] for a batch that was judged.
func (b *Batch) tellApart() {
	b.whole.mu.Lock()
	owed := b.owed
	b.whole.mu.Unlock()
	if owed == nil {
		return
	}
	guard.InTime(func() { owed.tellAll(time.Now()) })
	b.whole.mu.Lock()
	defer b.whole.mu.Unlock()
	b.pay(true)
}

// pay settles what the batch owes. The caller holds whole.mu.
func (b *Batch) pay(forced bool) {
	owed := b.owed
	if owed == nil {
		return
	}
	b.owed = nil
	b.site.settler.settleAll(owed)
	close(b.settled)
	if !forced { // else somebody may still be telling
		owed.free()
	}
}

// afterwards is [Attempt.afterwards] for a batch.
func (b *Batch) afterwards(late bool, owed *judged, now time.Time, err error) {
	whole := &b.whole
	switch {
	case late:
		b.site.cfg.Logger.Debug("a handler returned after its attempt was over", b.logged("error", err)...)
		if owed != nil {
			<-b.settled
		}
	case owed != nil:
		if whole.late(now) {
			whole.mu.Lock()
			whole.leaveSoon(b.leave)
			whole.mu.Unlock()
		}
		owed.tellAll(now)
		whole.mu.Lock()
		b.pay(false)
		whole.mu.Unlock()
	}
	for _, a := range b.begun { // that have expired
		a.mu.Lock()
		owed := a.owes
		a.mu.Unlock()
		if owed == owesDisposition {
			<-a.extra.Load().settled
		}
	}
	whole.released()
}
