package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// ErrShutdown is the cause with which the contexts of running handlers are
// cancelled when the bus stops waiting for them.
var ErrShutdown = errors.New("the bus is shutting down")

// Halt takes no more deliveries, but for what workers are taking at this moment. It waits for nothing.
func (s *Scheduler) Halt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Swap(true) {
		return
	}
	close(s.stopping)
	go func() {
		s.workers.Wait()
		close(s.finished)
	}()
}

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
		s.cancel(ErrShutdown)
		s.mu.Lock()
		s.alarm.stop()
		s.mu.Unlock()
		s.stalls.stop()
		s.cfg.Alone.leave(s)
		s.cfg.Waits.leave(s)
		s.releaseAll()
		left := s.queue.drain()
		if s.turn.take() { // else a worker that did not end in time is about to poll
			left = append(left, s.queue.drain()...) // what was gathered for a batch
			left = append(left, s.later...)
			s.turn.give()
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
	case <-s.finished:
		return nil
	case <-s.ended: // another call has interrupted what did not finish
		return nil
	case <-ctx.Done():
	}
	s.cancel(ErrShutdown)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-s.finished:
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
	defer s.lookAtRunning()()
	s.mu.Lock()
	left := make([]*Attempt, 0, len(s.running))
	for _, slot := range s.running {
		if a := slot.Load(); a != nil {
			left = append(left, a)
		}
	}
	s.mu.Unlock()
	var ending sync.WaitGroup
	for _, a := range left {
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
