package dispatch_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// source is the consumer of an engine that moves deliveries between processes.
type source struct {
	mu       sync.Mutex
	wake     func()
	events   []int64 // to be polled
	failing  []int64
	asked    int  // how often Failing was asked from the beginning
	moved    bool // the next Poll says so
	always   bool // every Poll says so
	polls    int
	foreign  map[int64]bool
	settled  map[int64]engine.DispositionKind
	released []int64

	undiscarded int64 // it was cancelled when it was to begin, and no longer is

	pollEvent func(seq int64) (ok bool, err error) // nil for never
}

func (s *source) delivery(seq int64) *engine.Delivery {
	return &engine.Delivery{Record: &engine.Record{Seq: seq, Type: "order.placed", Key: "A"}, Since: time.Now()}
}

func (s *source) Notify(wake func(), _ func() bool) {
	s.mu.Lock()
	s.wake = wake
	s.mu.Unlock()
	wake()
}

func (s *source) Poll(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls++
	if s.moved || s.always && s.polls < 1000 {
		s.moved = false
		return dst, true, engine.ErrMoved
	}
	for len(s.events) > 0 && len(dst) < limit {
		dst = append(dst, s.delivery(s.events[0]))
		s.events = s.events[1:]
	}
	return dst, len(s.events) > 0, nil
}

func (s *source) Express() (critical, high bool) { return false, false }

func (s *source) PollExpress(dst []*engine.Delivery, _, _ int) ([]*engine.Delivery, error) {
	return dst, nil
}

func (s *source) Reread() bool { return false }

func (s *source) PollEvent(seq int64) (d *engine.Delivery, again time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pollEvent == nil {
		return nil, time.Time{}, nil
	}
	ok, err := s.pollEvent(seq)
	if ok {
		d = s.delivery(seq)
	}
	return d, time.Time{}, err
}

func (s *source) SetWaiting(*engine.Delivery, bool) {}

func (s *source) Failing(after int64, limit int) (found []*engine.Delivery, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after == 0 {
		s.asked++
	}
	for _, seq := range s.failing {
		if seq > after {
			found = append(found, s.delivery(seq))
		}
	}
	return found, nil
}

func (s *source) Cancelled(int64) (string, bool) { return "", false }
func (s *source) Prepare(*engine.Delivery)       {}
func (s *source) End([]*engine.Delivery)         {}

func (s *source) Begin(all []*engine.Delivery, _ []int, started time.Time) (n int, begun time.Time, cancelled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, d := range all {
		switch {
		case s.undiscarded == d.Seq:
			s.undiscarded = 0
			return n, started, true
		case s.foreign[d.Seq]:
			return n, started, false
		}
	}
	return len(all), started, false
}

func (s *source) Settle(one engine.Settled, others []engine.Settled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(one.Delivery, one.Disposition)
	for _, other := range others {
		s.settle(other.Delivery, other.Disposition)
	}
}

// settle is Settle for who holds mu.
func (s *source) settle(d *engine.Delivery, v engine.Disposition) {
	if s.settled == nil {
		s.settled = map[int64]engine.DispositionKind{}
	}
	s.settled[d.Seq] = v.Kind
	if v.Kind == engine.Release {
		s.released = append(s.released, d.Seq)
	}
}

// change makes the source another one, and wakes who polls.
func (s *source) change(f func()) {
	s.mu.Lock()
	f()
	wake := s.wake
	s.mu.Unlock()
	wake()
}

type silent struct{}

func (silent) Succeeded(*dispatch.Attempt, time.Time)                                  {}
func (silent) Handled(*dispatch.Attempt, []engine.Record)                              {}
func (silent) Failed(*dispatch.Attempt, *event.FailedAttempt, time.Time) (tell func()) { return nil }
func (silent) Dead(*dispatch.Attempt, string, *event.FailedAttempt) (tell func())      { return nil }
func (silent) Discarded(*dispatch.Attempt, string, time.Time) (tell func())            { return nil }
func (silent) Snoozed(*dispatch.Attempt, time.Time, time.Time) (tell func())           { return nil }
func (silent) Suspended(*dispatch.Attempt, time.Time, time.Time) (tell func())         { return nil }
func (silent) SlowEvent(_ *dispatch.Attempt, _, _ time.Duration) (tell func())         { return nil }
func (silent) Slow(*dispatch.Attempt, time.Duration) (tell func())                     { return nil }
func (silent) TellHandled(*dispatch.Attempt, time.Time, []engine.Record)               {}
func (silent) Abandoned(*dispatch.Attempt, int)                                        {}

// dispatching begins to handle what the source has, within one partition key.
func dispatching(t *testing.T, s *source, strict bool, handle func(seq int64) error) {
	dispatchingAttempts(t, s, strict, func(a *dispatch.Attempt) error { return handle(a.Seq) })
}

func dispatchingAttempts(t *testing.T, s *source, strict bool, handle func(a *dispatch.Attempt) error) {
	settings := &dispatch.Settings{Retry: retry.Default(), Timeout: time.Minute}
	handlers := []*dispatch.Handler{{
		Name: "billing", Count: silent{}, Settings: func(string) *dispatch.Settings { return settings },
		Handle: handle,
	}}
	logger := slog.New(slog.DiscardHandler)
	sub := dispatch.New(s, dispatch.Config{
		Name: "billing", Concurrency: 4, Strict: strict, Keyless: "none", Logger: logger,
		Handlers:       func(string) []*dispatch.Handler { return handlers },
		Settings:       func(string) *dispatch.Settings { return settings },
		Key:            func(d *engine.Delivery) (string, error) { return d.Key, nil },
		Breaker:        breaker.New(breaker.Policy{Off: true}),
		Notice:         func(*engine.Delivery, engine.Disposition) []engine.Record { return nil },
		BreakerChanged: func(string, breaker.Status, breaker.Status) {},
		Alone:          &dispatch.Alone{Logger: logger},
		Waits:          &dispatch.Waits{},
	})
	sub.Start()
	t.Cleanup(func() { sub.Stop(context.Background(), time.Second) })
}

// When deliveries move, those that wait are given back, the one that runs goes on and
// keeps its key, and a strict order asks again which deliveries are failing.
func TestDeliveriesThatMovedAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{events: []int64{1, 2, 3}}
		release := make(chan struct{})
		var handled []int64
		var mu sync.Mutex
		dispatching(t, s, true, func(seq int64) error {
			if seq == 1 {
				<-release
			}
			mu.Lock()
			handled = append(handled, seq)
			mu.Unlock()
			return nil
		})
		synctest.Wait() // 1 runs, 2 and 3 wait for its key
		s.change(func() { s.moved, s.failing, s.events = true, []int64{4}, []int64{5, 6} })
		synctest.Wait()
		if slices.Sort(s.released); !slices.Equal(s.released, []int64{2, 3}) {
			t.Errorf("given back: %v, want 2 and 3", s.released)
		}
		if s.asked != 2 {
			t.Errorf("Failing was asked %d times, want 2", s.asked)
		}
		close(release)
		synctest.Wait()
		if !slices.Equal(handled, []int64{1}) {
			t.Errorf("handled %v; 5 and 6 must wait for 4, which is failing", handled)
		}
		s.change(func() { s.moved, s.failing, s.events = true, nil, []int64{5, 6} })
		synctest.Wait()
		if !slices.Equal(handled, []int64{1, 5, 6}) {
			t.Errorf("handled %v, want 1, 5 and 6", handled)
		}
	})
}

// A delivery that is not this process's any more is dropped: its handler is not called,
// nothing is settled, and the next one of its key has its turn.
func TestADeliveryThatIsNotOursIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{events: []int64{1, 2}, foreign: map[int64]bool{1: true}}
		var handled []int64
		dispatching(t, s, false, func(seq int64) error {
			handled = append(handled, seq)
			return nil
		})
		synctest.Wait()
		if !slices.Equal(handled, []int64{2}) {
			t.Errorf("handled %v, want 2 only", handled)
		}
		if kind, settled := s.settled[1]; settled {
			t.Errorf("the foreign delivery was settled (%d)", kind)
		}
		if s.settled[2] != engine.Done {
			t.Errorf("the other was settled with %d", s.settled[2])
		}
	})
}

// However a failing delivery ends that runs while others move, the later ones of its key
// have their turn: once it is settled for good, or has come again.
func TestADeliveryThatRunsWhileOthersMoveHoldsItsKeyNoLonger(t *testing.T) {
	for name, test := range map[string]struct {
		result error
		want   []int64
	}{
		"done":      {nil, []int64{1, 5}},
		"discarded": {&errs.DiscardError{Reason: "not wanted"}, []int64{1, 5}},
		"dead":      {&errs.PermanentError{Err: errors.New("broken")}, []int64{1, 5}},
		"retried":   {errors.New("broken"), []int64{1, 1, 5}},
		"snoozed":   {&errs.SnoozeError{For: time.Minute}, []int64{1, 1, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{events: []int64{1}}
				end := make(chan struct{})
				var handled []int64
				dispatching(t, s, true, func(seq int64) error {
					handled = append(handled, seq)
					if len(handled) > 1 {
						return nil
					}
					<-end
					return test.result
				})
				synctest.Wait() // 1 runs
				s.change(func() { s.moved, s.failing, s.events = true, []int64{1}, []int64{5} })
				synctest.Wait()
				if !slices.Equal(handled, []int64{1}) {
					t.Errorf("handled %v beside 1", handled)
				}
				close(end)
				synctest.Wait()
				if again := len(test.want) == 3; again {
					if !slices.Equal(handled, []int64{1}) {
						t.Errorf("handled %v; 5 must wait for 1, which has to come again", handled)
					}
					s.change(func() { s.events = []int64{1} })
					synctest.Wait()
				}
				if !slices.Equal(handled, test.want) {
					t.Errorf("handled %v, want %v", handled, test.want)
				}
			})
		})
	}
}

// An engine that says on every poll that deliveries have moved is asked every second.
func TestDeliveriesThatMoveAllTheTimeAreNotPolledAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{always: true}
		var handled []int64
		dispatching(t, s, false, func(seq int64) error {
			handled = append(handled, seq)
			return nil
		})
		time.Sleep(10 * time.Second)
		s.mu.Lock()
		if s.polls > 20 {
			t.Errorf("there were %d polls in 10 seconds", s.polls)
		}
		s.always, s.events = false, []int64{1}
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !slices.Equal(handled, []int64{1}) {
			t.Errorf("handled %v, want 1", handled)
		}
	})
}

// Somebody undoes the discard just when the delivery is refused for it.
func TestADeliveryThatIsUndiscardedWhenItBeginsIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{events: []int64{1, 2}, undiscarded: 1}
		dispatching(t, s, false, func(int64) error { return nil })
		synctest.Wait()
		s.change(func() {
			if s.settled[1] != engine.Done || s.settled[2] != engine.Done || len(s.settled) != 2 {
				t.Errorf("settled are %v, want 1 and 2 as done", s.settled)
			}
		})
	})
}

func (s *source) Parked() bool { return false }

func (s *source) Behind([]string, int64) (int, error) { return -1, nil }

func (s *source) Free(string, int) {}
