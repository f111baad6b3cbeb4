package systest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// The stress test does everything at once, in real time, for the race detector
// and for whatever only happens in a crowd:
//
//	go test -race ./runtime -run Stress
const (
	stressTime          = 1500 * time.Millisecond
	stressPublishers    = 64
	stressSubscriptions = 16
	stressConcurrency   = 8
)

func TestStressLosesNothingAndRepeatsNoSuccess(t *testing.T) {
	s := &stress{T: t, Fixture: SQLite.Open(t, runtime.WithMaxPending(2000, runtime.Block)), acknowledged: map[uuid.UUID]bool{}}
	for i := range s.tallies {
		s.tallies[i].of = map[uuid.UUID]tally{}
		s.subscriptions[i] = s.subscribe(i)
	}
	s.MustStart()

	var crowd sync.WaitGroup
	for p := range stressPublishers {
		crowd.Go(func() { s.publish(p) })
	}
	for _, work := range []func(){s.redrive, s.purge, s.comeAndGo, s.watch, s.waitIdle, s.pauseOne, s.pauseTypes, s.tune} {
		crowd.Go(func() {
			for !s.over.Load() {
				work()
			}
		})
	}
	<-time.After(stressTime)
	s.Stop() // in the middle of everything
	s.over.Store(true)
	crowd.Wait()

	s.healthy.Store(true)
	s.Fixture = SQLite.Reopen(t, s.Path)
	for _, p := range s.pauses() {
		s.tolerate("resuming", errors.Join(s.ResumeTypes(t.Context(), p.Types), s.ResumeSubscription(t.Context(), p.Subscription)))
	}
	for i := range s.subscriptions {
		s.subscribe(i)
	}
	s.MustStart()
	s.Idle()
	s.Stop()
	s.audit()
}

// stress is a bus and the crowd around it.
type stress struct {
	*testing.T
	*Fixture
	over    atomic.Bool
	healthy atomic.Bool // handlers succeed

	subscriptions [stressSubscriptions]*runtime.Subscription
	tallies       [stressSubscriptions]tallies

	mu           sync.Mutex
	acknowledged map[uuid.UUID]bool
}

// tallies counts the outcomes of the events of one subscription.
type tallies struct {
	mu sync.Mutex
	of map[uuid.UUID]tally
}

type tally struct{ successes, deaths, children int }

func (s *stress) subscribe(i int) *runtime.Subscription {
	name := fmt.Sprintf("subscription %d", i)
	handle := func(ctx context.Context, e seen) error { return s.handle(ctx, i, e) }
	opts := []runtime.SubscribeOption{
		runtime.WithConcurrency(stressConcurrency),
		runtime.WithRetry(retry.MaxAttempts(3), retry.BaseDelay(time.Millisecond), retry.Jitter(0.5)),
	}
	var subscription *runtime.Subscription
	var err error
	switch {
	case i < 4:
		subscription, err = runtime.SubscribePattern(s.Bus, "*", name, seeing[runtime.Raw](handle), opts...)
	case i < 8:
		subscription, err = runtime.SubscribeNamespace(s.Bus, "order.*", name, seeing[OrderEvent](handle), opts...)
	case i < 10:
		subscription, err = runtime.Subscribe(s.Bus, PlacedType, name, seeing[OrderPlaced](handle), append(opts, runtime.WithStrictOrder())...)
	default:
		subscription, err = runtime.Subscribe(s.Bus, PlacedType, name, seeing[OrderPlaced](handle), opts...)
	}
	if err != nil && !errors.Is(err, runtime.ErrShutdown) {
		s.Error(err)
	}
	return subscription
}

// seen is an event as a handler of any type sees it.
type seen struct {
	id           uuid.UUID
	number       uint64
	attempt, max int
}

// seeing makes a handler of any type.
func seeing[T any](handle func(context.Context, seen) error) runtime.Handler[T] {
	return func(ctx context.Context, e runtime.Event[T]) error {
		return handle(ctx, seen{id: e.ID, number: NumberOf(e.Payload), attempt: e.Attempt, max: e.MaxAttempts})
	}
}

// handle fails for ever with some events, once with others, and the last
// subscription publishes an event of its own now and then.
func (s *stress) handle(ctx context.Context, i int, e seen) error {
	mine := &s.tallies[i]
	mine.mu.Lock()
	defer mine.mu.Unlock()
	tally := mine.of[e.id]
	defer func() { mine.of[e.id] = tally }()
	if i == stressSubscriptions-1 && e.number%5 == 0 {
		if _, err := runtime.Publish(ctx, s.Bus, PaidType, OrderPaid{}); err != nil {
			s.Errorf("publishing in a handler: %v", err)
		}
		tally.children++
	}
	if broken := e.number%31 == 1 || e.number%7 == 1 && e.attempt == 1; broken && !s.healthy.Load() {
		if e.attempt == e.max {
			tally.deaths++
		}
		if tally.children > 0 {
			tally.children--
		}
		if e.number%2 == 0 {
			panic("kaboom")
		}
		return ErrBoom
	}
	tally.successes++
	return nil
}

// publish is one publisher: single events, batches, keys, and receipts.
func (s *stress) publish(p int) {
	for n := 1; !s.over.Load(); n++ {
		payload := OrderPlaced{OrderID: fmt.Sprint("key ", n%20), Number: p*100_000 + n}
		var receipts []*runtime.Receipt
		var err error
		switch n % 8 {
		case 0:
			receipts, err = runtime.PublishBatch(s.Context(), s.Bus, PlacedType, slices.Repeat([]OrderPlaced{payload}, 4))
		case 1:
			payload.Number = n // the same of all publishers
			receipts = make([]*runtime.Receipt, 1)
			receipts[0], err = runtime.Publish(s.Context(), s.Bus, PlacedType, payload, runtime.WithDedupeKey(fmt.Sprint(n)))
		default:
			receipts = make([]*runtime.Receipt, 1)
			receipts[0], err = runtime.Publish(s.Context(), s.Bus, PlacedType, payload)
		}
		if errors.Is(err, runtime.ErrShutdown) {
			return
		}
		if err != nil {
			s.Errorf("publishing: %v", err)
			return
		}
		s.mu.Lock()
		for _, r := range receipts {
			s.acknowledged[r.ID] = true
		}
		s.mu.Unlock()
		if n%4 == 0 {
			s.wait(receipts[0])
		}
	}
}

// moment is how long the crowd waits for something that may take longer.
func (s *stress) moment() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.Context(), 50*time.Millisecond)
}

// tolerate objects to errors that are not the end of a moment or of the bus.
func (s *stress) tolerate(what string, err error) {
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, runtime.ErrShutdown) {
		s.Errorf("%s: %v", what, err)
	}
}

func (s *stress) wait(r *runtime.Receipt) {
	ctx, cancel := s.moment()
	defer cancel()
	outcome, err := r.Wait(ctx)
	s.tolerate("waiting for an event", err)
	if err == nil && (outcome.ID != r.ID || len(outcome.Deliveries) != stressSubscriptions) {
		s.Errorf("the outcome is %+v", outcome)
	}
}

func (s *stress) waitIdle() {
	ctx, cancel := s.moment()
	defer cancel()
	s.tolerate("waiting until idle", s.WaitIdle(ctx))
}

// pauseOne pauses a subscription for a moment, and pauseTypes event types.
func (s *stress) pauseOne() {
	name := fmt.Sprintf("subscription %d", time.Now().UnixNano()%stressSubscriptions)
	s.tolerate("pausing", s.PauseSubscription(s.Context(), name, ""))
	s.passAMoment()
	s.tolerate("resuming", s.ResumeSubscription(s.Context(), name))
}

func (s *stress) pauseTypes() {
	s.tolerate("pausing", s.PauseTypes(s.Context(), "order.*", ""))
	s.passAMoment()
	s.tolerate("resuming", s.ResumeTypes(s.Context(), "order.*"))
	s.passAMoment()
}

func (s *stress) tune() {
	settings := Within(time.Minute, Exact(retry.MaxAttempts(5)))
	s.tolerate("tuning", s.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.paid": settings}}))
	s.passAMoment()
}

func (s *stress) pauses() []event.Pause {
	pauses, err := s.Pauses(s.Context())
	s.tolerate("listing the pauses", err)
	return pauses
}

func (s *stress) passAMoment() {
	ctx, cancel := s.moment()
	defer cancel()
	<-ctx.Done()
}

func (s *stress) redrive() {
	inspector, err := inspect.Open(s.Context(), s.Path)
	Must(s.T, err)
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(s.Context(), event.Filter{}, event.Page{Limit: 20})
	s.tolerate("listing", err)
	for _, l := range letters {
		_, err := inspector.Retry(s.Context(), inspect.Only(l.Key))
		s.tolerate("retrying", err)
	}
}

func (s *stress) purge() {
	inspector, err := inspect.Open(s.Context(), s.Path)
	Must(s.T, err)
	defer inspector.Close()
	_, err = inspector.Purge(s.Context(), inspect.Selection{Filter: event.Filter{Until: time.Now().Add(-100 * time.Millisecond)}})
	s.tolerate("purging", err)
}

// comeAndGo unsubscribes one name after the other and subscribes it again.
func (s *stress) comeAndGo() {
	for i := range s.subscriptions {
		s.tolerate("unsubscribing", s.subscriptions[i].Unsubscribe(s.Context()))
		if s.subscriptions[i] = s.subscribe(i); s.subscriptions[i] == nil {
			s.over.Store(true)
			return
		}
	}
}

func (s *stress) watch() {
	stats := s.Stats()
	if len(stats.Subscriptions) > stressSubscriptions || len(stats.Types) != 3 {
		s.Errorf("the statistics are %+v", stats)
	}
	s.passAMoment()
}

// audit checks that every event that was acknowledged is settled for every
// subscription: handled once, or given up.
func (s *stress) audit() {
	stored := map[uuid.UUID]bool{}
	for id := range strings.FieldsSeq(queryFile(s.T, s.Path, "SELECT group_concat(id, ' ') FROM events WHERE type = 'order.placed'")) {
		stored[uuid.MustParse(id)] = true
	}
	children, handled, dead := 0, 0, 0
	for i := range s.tallies {
		for id, tally := range s.tallies[i].of {
			if tally.successes > 1 || tally.successes+tally.deaths == 0 {
				s.Errorf("event %v was handled %d times by subscription %d and given up %d times", id, tally.successes, i, tally.deaths)
			}
			children += tally.children
			handled += tally.successes
			dead += min(tally.deaths, 1)
		}
		for id := range s.acknowledged {
			if _, ran := s.tallies[i].of[id]; !ran {
				s.Errorf("event %v never reached subscription %d", id, i)
			}
		}
	}
	for id := range s.acknowledged {
		if !stored[id] {
			s.Errorf("event %v was acknowledged and is not stored", id)
		}
		delete(stored, id)
	}
	if len(stored) > 0 {
		s.Errorf("%d events are stored that nobody was told of", len(stored))
	}
	if got := queryFile(s.T, s.Path, "SELECT count(*) FROM events WHERE type = 'order.paid'"); got != fmt.Sprint(children) {
		s.Errorf("%s events of handlers are stored, want %d", got, children)
	}
	if got := queryFile(s.T, s.Path, "SELECT count(*) FROM events WHERE status NOT IN ('done', 'dlq')"); got != "0" {
		s.Errorf("%s events are not settled", got)
	}
	if got := queryFile(s.T, s.Path, "PRAGMA integrity_check"); got != "ok" {
		s.Errorf("integrity_check says %s", got)
	}
	s.Logf("%d events acknowledged, %d published by handlers, %d deliveries handled, %d dead at least once",
		len(s.acknowledged), children, handled, dead)
}
