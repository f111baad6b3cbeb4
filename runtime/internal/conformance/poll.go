package conformance

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// These tests ask an engine itself what [engine.Source] says of Poll, without a bus between.

// written is how long it takes at most until what was settled can be polled, and until an engine has noticed what
// another process has published.
const written = time.Second

// polledLog is a log whose subscriptions are polled with every limit.
type polledLog struct {
	*rand.Rand
	t      *testing.T
	target string
	engine.Log
	other  engine.Log // of a process that only publishes
	events []polledEvent
}

type polledEvent struct {
	seq     int64
	id      uuid.UUID
	wanted  bool
	express engine.Express
	due     time.Time // zero for at once
	known   time.Time // to the process that polls; zero for at once
	pruned  bool      // perhaps
}

func (env *Env) openPolled(t *testing.T, seed uint64) *polledLog {
	t.Helper()
	l := &polledLog{Rand: rand.New(rand.NewPCG(seed, 40)), t: t, target: env.Target(t)}
	l.Log, l.other = l.open(env), l.open(env)
	_, err := l.TakeOver(t.Context())
	Must(t, err)
	return l
}

func (l *polledLog) open(env *Env) engine.Log {
	l.t.Helper()
	log, err := env.Storage.Open(l.t.Context(), l.target, engine.Options{Logger: slog.New(slog.DiscardHandler), Program: "polls"})
	Must(l.t, err)
	Must(l.t, log.Declare(l.t.Context(), []engine.TypeSpec{{Name: "order.placed"}, {Name: "user.registered"}}, nil))
	l.t.Cleanup(func() { Must(l.t, log.CloseWithin(context.Background())) })
	return log
}

// reopen makes the process that polls begin anew: it has nothing of the log in memory.
func (l *polledLog) reopen(env *Env) {
	l.t.Helper()
	Must(l.t, l.CloseWithin(context.Background()))
	l.Log = l.open(env)
	_, err := l.TakeOver(l.t.Context())
	Must(l.t, err)
}

// publish stores events, now and then many in a row that are not wanted.
func (l *polledLog) publish(by engine.Log, n int) {
	l.t.Helper()
	unwanted := 0
	for n > 0 {
		records := make([]engine.Record, min(n, 1+l.IntN(100)))
		for i := range records {
			if unwanted--; unwanted < 0 && l.IntN(60) == 0 {
				unwanted = l.IntN(40)
			}
			r := &records[i]
			*r = engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "order.placed", Payload: []byte(`{}`), CreatedAt: engine.Now()}
			if unwanted > 0 {
				r.Type = "user.registered"
			}
			if l.Traits().StoresKeys {
				r.Key, r.Keyed = fmt.Sprint("K", l.IntN(20)), true
			} else if l.IntN(20) == 0 {
				r.Express = engine.High + engine.Express(l.IntN(2))
			}
			if l.IntN(40) == 0 {
				r.Due = engine.Stored(time.Now().Add(time.Duration(l.IntN(3000)) * time.Millisecond))
			}
		}
		Must(l.t, by.Append(l.t.Context(), records))
		known := time.Time{}
		switch {
		case by != l.Log:
			known = time.Now().Add(written)
		case l.IntN(2) == 0:
			synctest.Wait()
		default:
			known = time.Now().Add(1) // a server has not told it yet, perhaps
		}
		for _, r := range records {
			l.events = append(l.events, polledEvent{seq: r.Seq, id: r.ID, wanted: r.Type == "order.placed", express: r.Express, due: r.Due, known: known})
		}
		n -= len(records)
	}
}

// prune handles what there is, and deletes most of it: few events stay, with gaps between them.
func (l *polledLog) prune() {
	l.t.Helper()
	c := l.consumer("first", 100)
	c.run(func(d *engine.Delivery) engine.Disposition {
		if l.IntN(5) == 0 {
			return engine.Disposition{Kind: engine.Dead, Reason: event.ReasonPermanent, Attempt: failedAttempt()}
		}
		return engine.Disposition{Kind: engine.Done}
	})
	Must(l.t, l.Flush(l.t.Context()))
	n, err := l.Prune(l.t.Context(), time.Now().Add(time.Hour))
	Must(l.t, err)
	if n == 0 {
		l.t.Error("no event was deleted: the test shows less than it should")
	}
	for i := range l.events {
		l.events[i].pruned = true
	}
	c.remove()
}

func failedAttempt() *event.FailedAttempt {
	return &event.FailedAttempt{Kind: event.KindError, Started: engine.Now(), Ended: engine.Now(), Error: ErrBoom.Error()}
}

// polledConsumer is a subscription with what is known of its deliveries.
type polledConsumer struct {
	engine.Consumer
	log    *polledLog
	name   string
	limit  int
	woken  atomic.Bool
	states map[int64]*polledState
	all    []*polledState // those that are not settled for good
	last   int64          // of the log, apart from what was put off
	empty  int            // answers in a row that had nothing and promised more
	held   []*engine.Delivery
	worker int
}

// polledState is a delivery.
type polledState struct {
	polledEvent
	from, latest time.Time // it may be polled from then on, and must be then
	putOff       bool      // it was, so it comes out of turn
	optional     bool      // it need not come
	cancelled    bool
	out, done    bool
}

func (l *polledLog) consumer(name string, limit int) *polledConsumer {
	l.t.Helper()
	c := &polledConsumer{log: l, name: name, limit: limit, states: map[int64]*polledState{}}
	var err error
	c.Consumer, err = l.Log.Consumer(l.t.Context(), engine.ConsumerSpec{
		Name: name, Pattern: "order.*", FromBeginning: true, Parallel: limit%2 == 0,
	})
	Must(l.t, err)
	c.Notify(func() { c.woken.Store(true) }, nil)
	c.learn()
	return c
}

func (c *polledConsumer) remove() {
	c.log.t.Helper()
	Must(c.log.t, c.log.LetGo(c.log.t.Context(), c.Consumer))
	_, err := c.log.RemoveConsumer(c.log.t.Context(), c.name, "")
	Must(c.log.t, err)
}

// learn notes events that were published.
func (c *polledConsumer) learn() {
	for i := len(c.log.events) - 1; i >= 0; i-- {
		e := c.log.events[i]
		if c.states[e.seq] != nil {
			break
		}
		s := &polledState{polledEvent: e, from: e.due, latest: latest(e.due, e.known), putOff: !e.due.IsZero(), optional: e.pruned || !e.wanted}
		c.states[e.seq] = s
		if e.wanted {
			c.all = append(c.all, s)
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// next returns what must be polled first.
func (c *polledConsumer) next() *polledState {
	c.all = slices.DeleteFunc(c.all, func(s *polledState) bool { return s.done })
	var first *polledState
	for _, s := range c.all {
		if !s.optional && !s.out && (first == nil || s.latest.Before(first.latest)) {
			first = s
		}
	}
	return first
}

// run polls as a bus does, only when the last answer was that there is more or the engine has called, and settles
// what comes, until all is settled.
func (c *polledConsumer) run(handle func(*engine.Delivery) engine.Disposition) {
	t := c.log.t
	t.Helper()
	for more := false; ; {
		critical, high := c.Express()
		if !more && !c.woken.Load() && !critical && !high {
			switch next := c.next(); {
			case len(c.held) > 0 && (next == nil || c.log.IntN(3) == 0):
				d := c.held[0]
				c.held = c.held[1:]
				c.settle(d, engine.Disposition{Kind: engine.Done})
			case next == nil:
				return
			case !next.latest.After(time.Now()):
				t.Fatalf("limit %d: nobody has called for event %d, which is to be polled", c.limit, next.seq)
			default:
				time.Sleep(time.Until(next.latest))
				synctest.Wait()
			}
			continue
		}
		c.woken.Store(false)
		more = c.poll(handle)
	}
}

func (c *polledConsumer) poll(handle func(*engine.Delivery) engine.Disposition) (more bool) {
	t, began := c.log.t, time.Now()
	t.Helper()
	critical, high := c.log.IntN(c.limit+1), c.log.IntN(3)
	express, err := c.PollExpress(nil, critical, high)
	Must(t, err)
	for _, d := range express {
		s := c.states[d.Seq]
		if s == nil || s.express == 0 {
			t.Fatalf("event %d is polled as an express one", d.Seq)
		}
		s.putOff = true
		if s.express == engine.Critical {
			critical--
		} else {
			high--
		}
	}
	if critical < 0 || high < 0 {
		t.Fatalf("%d express deliveries were polled, %d critical and %d high ones too many", len(express), max(-critical, 0), max(-high, 0))
	}
	polled, more, err := c.Poll(nil, c.limit)
	Must(t, err)
	if len(polled) > c.limit {
		t.Fatalf("limit %d: %d deliveries were polled", c.limit, len(polled))
	}
	polled = append(express, polled...)
	for _, d := range polled {
		s := c.states[d.Seq]
		switch {
		case s == nil || !s.wanted:
			t.Fatalf("limit %d: event %d is not for the subscription", c.limit, d.Seq)
		case s.out || s.done:
			t.Fatalf("limit %d: event %d is polled twice: settled %v", c.limit, d.Seq, s.done)
		case s.from.After(time.Now()):
			t.Fatalf("limit %d: event %d is polled %v too early", c.limit, d.Seq, time.Until(s.from))
		case !s.putOff && d.Seq < c.last:
			t.Fatalf("limit %d: event %d is polled after event %d", c.limit, d.Seq, c.last)
		}
		if s.out = true; !s.putOff {
			c.last = d.Seq
		}
	}
	nextCritical, nextHigh := c.Express()
	if next := c.next(); !more && !nextCritical && !nextHigh && next != nil && !next.latest.After(began) {
		t.Fatalf("limit %d: %d deliveries were polled, and that is all, but event %d is to be polled, too", c.limit, len(polled), next.seq)
	}
	if c.empty++; !more || len(polled) > 0 {
		c.empty = 0
	}
	if c.empty > 100 {
		t.Fatalf("limit %d: %d answers in a row have nothing and promise more", c.limit, c.empty)
	}
	for _, d := range polled {
		switch c.log.IntN(30) {
		case 0: // its handler takes long
			c.held = append(c.held, d)
		default:
			c.settle(d, handle(d))
		}
	}
	return more
}

// settle lets a handler be called.
func (c *polledConsumer) settle(d *engine.Delivery, v engine.Disposition) {
	c.worker = (c.worker + 1) % 4
	n, _, cancelled := c.Begin([]*engine.Delivery{d}, []int{c.worker}, time.Now())
	s := c.states[d.Seq]
	switch {
	case cancelled:
		reason, _ := c.Cancelled(d.Seq)
		v = engine.Disposition{Kind: engine.Discard, Reason: reason, Cancelled: true}
		if !s.cancelled {
			c.log.t.Fatalf("limit %d: event %d is cancelled (%q), but by nobody", c.limit, d.Seq, reason)
		}
	case n == 0:
		c.log.t.Fatalf("limit %d: event %d has been taken away", c.limit, d.Seq)
	default:
		c.End([]*engine.Delivery{d})
	}
	if s.out = false; v.Due.IsZero() {
		s.done = true
	} else {
		s.putOff, s.from, s.latest = true, v.Due, latest(v.Due, time.Now().Add(written))
	}
	c.Settle(engine.Settled{Delivery: d, Disposition: v}, nil)
}

// handle makes up what a handler does.
func (c *polledConsumer) handle(*engine.Delivery) engine.Disposition {
	due := time.Now().Truncate(time.Second).Add(time.Duration(1+c.log.IntN(3)) * time.Second) // several at once
	switch c.log.IntN(20) {
	case 0:
		return engine.Disposition{Kind: engine.Retry, Due: due, Attempt: failedAttempt()}
	case 1:
		return engine.Disposition{Kind: engine.Snooze, Due: due, Asked: true}
	case 2:
		return engine.Disposition{Kind: engine.Discard, Reason: "not wanted"}
	default:
		return engine.Disposition{Kind: engine.Done}
	}
}

// step lets something happen between two polls.
func (c *polledConsumer) step() {
	l := c.log
	l.t.Helper()
	switch l.IntN(12) {
	case 0:
		l.publish(l.Log, 1+l.IntN(3))
	case 1:
		l.publish(l.other, 1+l.IntN(3))
	case 2, 3, 4: // what comes soon
		open := slices.DeleteFunc(slices.Clone(c.all), func(s *polledState) bool { return s.out || s.done || s.optional || !s.known.IsZero() })
		if len(open) == 0 {
			return
		}
		slices.SortFunc(open, func(a, b *polledState) int { return cmp.Compare(a.seq, b.seq) })
		s := open[l.IntN(min(len(open), 2*c.limit))]
		_, err := l.Cancel(l.t.Context(), engine.Cancellation{Event: s.id, Subscription: c.name, Reason: engine.ReasonCancelled})
		Must(l.t, err)
		s.cancelled, s.optional, s.putOff, s.from = true, true, true, time.Time{}
	case 5:
		time.Sleep(time.Duration(l.IntN(100)) * time.Millisecond)
	}
	c.learn()
}

// TestPollSaysWhetherThereIsMore is about the contract of Poll: whatever the limit, and however short the answer is,
// more that is false says that this is all there is at the moment and that the engine calls when more comes. Nothing
// is handed out twice, too early or out of order, and nothing is left out.
func (env *Env) TestPollSaysWhetherThereIsMore(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 29
	}
	for _, size := range []struct{ memory, page, events, step int }{{8, 4, 240, 1}, {64, 64, 300, 1}, {0, 0, 3000, 10}} {
		t.Run(fmt.Sprint("pages of ", size.page), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if size.page > 0 {
					env.hold(t, 256, size.memory, size.page)
				}
				l := env.openPolled(t, uint64(size.page))
				l.publish(l.Log, size.events/4)
				l.prune()
				l.publish(l.Log, size.events/2)
				for limit := 1; limit <= 300; limit += step * size.step {
					l.reopen(env)
					c := l.consumer(fmt.Sprint("limit-", limit), limit)
					c.run(func(d *engine.Delivery) engine.Disposition {
						if l.IntN(1+limit) == 0 {
							c.step()
						}
						return c.handle(d)
					})
					c.remove()
				}
			})
		})
	}
}
