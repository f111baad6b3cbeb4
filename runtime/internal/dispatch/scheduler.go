package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/goroutine"
)

// Scheduler runs the handlers of one subscription.
type Scheduler struct {
	*site
	intake   *intake
	chooser  *chooser
	gatherer *gatherer
	end      sync.Once
}

// New returns a scheduler that does not deliver yet.
func New(consumer engine.Consumer, cfg Config) *Scheduler {
	c := newCore(consumer, cfg)
	gate, lim, watch := &gate{core: c, byKey: &byKey{core: c}}, &limits{core: c}, newDeadlines(&c.cfg)
	settler := &settler{core: c, limits: lim}
	crew := &crew{core: c, deadlines: watch, finished: make(chan struct{})}
	places := &places{core: c, gate: gate, limits: lim, crew: crew}
	site := &site{core: c, gate: gate, limits: lim, settler: settler, places: places, crew: crew, deadlines: watch}
	gathering := queue.NewGathering(&c.queue)
	intake := &intake{
		core: c, gate: gate, limits: lim, settler: settler, gathering: gathering,
		turn: newBaton(), claim: make(chan struct{}), window: Window, parking: parking{waitlists: waitlists{c}, limits: lim},
	}
	s := &Scheduler{
		site: site, intake: intake,
		chooser: &chooser{site: site, intake: intake}, gatherer: &gatherer{site: site, intake: intake, Gathering: gathering},
	}
	crew.work = s.work
	if cfg.Limits != nil {
		lim.owner = cfg.Limits.NewOwner(c.signal)
	}
	if cfg.Breaker != nil {
		cfg.Breaker.Notify(func(old, now breaker.Status) {
			c.signal()
			cfg.BreakerChanged("", old, now)
		})
	}
	if cfg.Breakers != nil {
		cfg.Breakers.Notify(func(key string, old, now breaker.Status) {
			gate.byKey.changed(key, now)
			cfg.BreakerChanged(key, old, now)
		})
	}
	return s
}

// Start begins to deliver.
func (s *Scheduler) Start() {
	s.cfg.Alone.join(s.gate)
	if !s.cfg.Ephemeral {
		s.cfg.Waits.join(s.core)
	}
	for range max(s.cfg.Concurrency, 1) {
		s.crew.open(nil)
	}
	s.consumer.Notify(s.signal, s.heeds)
}

// work handles one delivery after the other.
func (s *Scheduler) work(w *worker) {
	s.crew.runsOn(w.number, goroutine.Number())
	if s.cfg.Batch != nil && !s.workBatches(w.number) {
		return // another worker has taken over
	}
	for s.cfg.Batch == nil {
		r, ok := s.chooser.next(w)
		if !ok {
			break
		}
		if r == nil {
			continue // a guest that has given its turn away
		}
		if !s.site.run(w, r) {
			return // another worker has taken over
		}
		s.site.leaveGate(r)
		w.keep(r)
	}
	s.gate.yield() // nothing comes after this
	s.crew.retire(w)
}

// SetPaused stops the subscription or lets it go on; deliveries of held types
// are put off until the engine finds that their pause has ended, and those that have one of the keys are parked.
// Handlers that run are not interrupted.
func (s *Scheduler) SetPaused(all bool, held func(eventType string) bool, keys []string) {
	s.gate.byKey.pause(keys)
	s.gate.setPaused(all, held)
	s.signal()
}

// Retune is called after the limits that deliveries need may have changed.
func (s *Scheduler) Retune() {
	if s.cfg.Limits != nil {
		s.limits.retuned.Store(true)
		s.signal()
	}
}

// Limited returns how many deliveries wait for limits.
func (s *Scheduler) Limited() int { return s.queue.Parked() }

// OnWorker reports whether the calling goroutine is one of a worker, so that Stop would
// wait for it: that of a handler, or of an observer that it is reported to.
func (s *Scheduler) OnWorker() bool { return s.crew.isOn() }

// Running appends the attempts that have been running for at least so long,
// those included that were left behind. A batch is one, with its first event. It does not wait for one that is being
// settled: whoever takes down its log lines may take his time.
func (s *Scheduler) Running(all []event.Running, now time.Time, long time.Duration) []event.Running {
	return s.deadlines.appendRunning(all, now, long, s.crew.left())
}

// Stalls returns how many times the subscription has stalled.
func (s *Scheduler) Stalls() int64 { return s.stalls.count.Load() }

// Holds returns how often a delivery was held for its version.
func (s *Scheduler) Holds() int64 { return s.gate.holds.Load() }

// Interrupt ends the contexts of the attempts that run at the event at seq, with a cause.
// Its text is the reason of those that are discarded. Interrupt returns these attempts,
// and does not wait for their handlers. A context that was made while [Config].Interrupts
// was false has no cause but context.Canceled.
func (s *Scheduler) Interrupt(seq int64, cause error) (interrupted []*Attempt) {
	defer s.deadlines.look()()
	for _, a := range s.deadlines.all() {
		if a.Seq == seq && a.interruptFor(cause, "") {
			interrupted = append(interrupted, a)
		}
	}
	return interrupted
}

// workBatches handles one batch after the other. It reports false when the worker was
// written off meanwhile.
func (s *Scheduler) workBatches(worker int) (keep bool) {
	for {
		b, ok := s.gatherer.next()
		if !ok {
			return true
		}
		if !s.site.runBatch(worker, b) {
			return false
		}
		s.site.leaveBatch(b)
	}
}

// Halt takes no more deliveries, but for what workers are taking at this moment. It waits for nothing.
func (s *Scheduler) Halt() { s.crew.halt() }

// Stop is Halt, and waits for the running handlers. When ctx
// ends first, their contexts are cancelled with ErrShutdown, and those that do
// not return within grace are left behind, which counts as a failed attempt.
// The other deliveries that were not finished are given back. It returns ctx's
// error if it had to interrupt a handler. Several calls wait together; the first
// whose ctx ends interrupts.
func (s *Scheduler) Stop(ctx context.Context, grace time.Duration) error {
	s.Halt()
	err := s.await(ctx, grace)
	s.end.Do(func() {
		s.cancel(errs.ErrShutdown)
		s.deadlines.stop()
		s.stalls.stop()
		s.cfg.Alone.leave(s.gate)
		s.cfg.Waits.leave(s.core)
		left := s.queue.Drain()
		if s.intake.turn.take() { // else a worker that did not end in time is about to poll
			left = append(left, s.queue.Drain()...) // what was gathered for a batch
			left = append(left, s.intake.later...)
			s.intake.turn.give()
		}
		for _, i := range left {
			s.consumer.Settle(engine.Settled{Delivery: i.Delivery, Disposition: engine.Disposition{Kind: engine.Release, Progress: i.Progress}}, nil)
		}
		if s.limits.owner != nil {
			s.limits.owner.Close() // a worker that did not end in time may be about to park something
		}
		close(s.ended)
	})
	return err
}

func (s *Scheduler) await(ctx context.Context, grace time.Duration) error {
	select {
	case <-s.crew.finished:
		return nil
	case <-s.ended: // another call has interrupted what did not finish
		return nil
	case <-ctx.Done():
	}
	s.cancel(errs.ErrShutdown)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-s.crew.finished:
	case <-s.ended:
	case <-timer.C:
		s.interruptAll(grace)
	}
	return ctx.Err()
}

// interruptAll settles all attempts whose handlers have ignored for so long that
// their contexts are cancelled. Their limits are free: others shall not wait for handlers
// that may never return.
func (s *Scheduler) interruptAll(ignored time.Duration) {
	defer s.deadlines.look()()
	var ending sync.WaitGroup
	for _, a := range s.deadlines.all() {
		ending.Go(func() {
			if a.batch != nil {
				a.batch.interrupt(ignored)
			} else {
				a.interrupt(ignored)
			}
		})
	}
	ending.Wait() // they wait for the program's code with patience only
}
