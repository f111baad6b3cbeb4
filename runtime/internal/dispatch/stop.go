package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// ErrShutdown is the cause with which the contexts of running handlers are
// cancelled when the bus stops waiting for them.
var ErrShutdown = errors.New("the bus is shutting down")

// Stop takes no more deliveries and waits for the running handlers. When ctx
// ends first, their contexts are cancelled with ErrShutdown, and those that do
// not return within grace are left behind. Deliveries that were not finished
// are given back without being charged. It returns ctx's error if it had to
// interrupt a handler.
func (s *Subscription) Stop(ctx context.Context, grace time.Duration) error {
	s.mu.Lock()
	if s.stopped.Swap(true) {
		s.mu.Unlock()
		return nil
	}
	close(s.stopping)
	s.mu.Unlock()

	finished := make(chan struct{})
	go func() {
		s.lanes.Wait()
		close(finished)
	}()
	err := s.await(ctx, finished, grace)
	s.cancel(ErrShutdown)
	s.mu.Lock()
	s.alarm.stop()
	s.mu.Unlock()
	for _, i := range s.queue.drain() {
		s.consumer.Settle(i.Delivery, engine.Verdict{Kind: engine.Release, Progress: i.Progress})
	}
	return err
}

func (s *Subscription) await(ctx context.Context, finished <-chan struct{}, grace time.Duration) error {
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
	}
	s.cancel(ErrShutdown)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-finished:
	case <-timer.C:
		s.mu.Lock()
		left := make([]*Attempt, 0, len(s.running))
		for _, a := range s.running {
			if a != nil {
				left = append(left, a)
			}
		}
		s.mu.Unlock()
		for _, a := range left {
			a.giveBack()
		}
	}
	return ctx.Err()
}
