package sqlite

import (
	"sync"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// work is what the fault interrupts.
func (r *faultRun) work() {
	if !r.start() {
		return
	}
	for at, step := range r.script() {
		r.steps = at + 1
		if r.point.locked == r.steps {
			r.lock()
		}
		r.over = r.met() && !r.point.fault.Sticky
		step()
		synctest.Wait()
	}
}

// script is the steps of the work.
func (r *faultRun) script() []func() {
	if r.point.work == workLarge {
		return []func(){
			func() { r.publish(1, 50) },
			func() { r.poll(r.consumers[0], 1) },
			func() { r.give(engine.Disposition{Kind: engine.Done}) },
			func() { r.publish(6, 1_500_000) },
			func() { r.publish(1, 50) },
			r.flush,
			func() { r.publish(1, 50) },
		}
	}
	return []func(){
		func() { r.publish(2, 50) },
		func() { r.poll(r.consumers[0], 2); r.poll(r.consumers[1], 1) },
		func() { r.give(engine.Disposition{Kind: engine.Done}) },
		func() { r.give(r.failure(engine.Retry)) },
		func() { r.publish(5, 50) },
		r.flush,
		func() { r.poll(r.consumers[0], 9); r.poll(r.consumers[1], 9) },
		func() { r.give(r.failure(engine.Dead)) },
		func() { r.give(engine.Disposition{Kind: engine.Done, Staged: r.records(r.sim, simTypes, 2, 50)}) },
		r.together,
		func() { time.Sleep(20 * time.Millisecond) },
		func() { r.give(engine.Disposition{Kind: engine.Done}) },
		func() { r.publish(1, 20_000) },
		r.publishAgain,
		func() { r.poll(r.consumers[0], 2) },
		func() { time.Sleep(time.Second) },
		r.flush,
		func() { r.publish(1, 50) },
	}
}

// lock lets another connection hold the write lock, for a second or until
// unlock.
func (r *faultRun) lock() {
	c := r.raw(r.fs)
	r.must(c.Exec("BEGIN IMMEDIATE"))
	r.locked, r.unlock = true, sync.OnceFunc(func() { c.Close() })
	if !r.point.fault.Sticky {
		unlock := r.unlock
		time.AfterFunc(time.Second, unlock)
	}
}

// give settles the oldest delivery at hand.
func (r *faultRun) give(v engine.Disposition) {
	if len(r.held) == 0 {
		return
	}
	d := r.held[0]
	r.held = r.held[1:]
	r.begin(d)
	r.settle(d, v)
}

func (r *faultRun) failure(kind engine.DispositionKind) engine.Disposition {
	v := engine.Disposition{Kind: kind, Attempt: &event.FailedAttempt{
		Kind: event.KindError, Started: time.Now(), Ended: time.Now(), Error: "it did not work",
	}}
	if kind == engine.Dead {
		v.Reason = event.ReasonMaxAttempts
	} else {
		v.Due = time.Now().Add(time.Millisecond)
	}
	return v
}

// together publishes for several at once. Not while the file is locked: how
// long a group waits for others to join it is measured in real time, and
// virtual time stands still meanwhile.
func (r *faultRun) together() {
	if r.point.locked > 0 {
		r.publish(3, 50)
	} else {
		r.publishTogether()
	}
}
