package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// chance is a bus with limits to which anything may happen. All its decisions follow from a seed.
type chance struct {
	*Fixture
	*rand.Rand
	env       *Env
	catalogue *runtime.Catalogue
	strict    bool
	ordered   bool     // nothing lets an event overtake another
	waits     bool     // handlers wait for events
	all       []string // what all subscriptions need; nil for nothing
	number    int
	receipts  []*runtime.Receipt

	mu      sync.Mutex
	running map[string]int // by limit
	tried   map[int]bool   // by number
	last    map[string]int // by order: the number of the last first attempt
}

func (env *Env) newChance(t *testing.T, seed uint64) *chance {
	c := &chance{Rand: rand.New(rand.NewPCG(seed, 14)), env: env, running: map[string]int{}, tried: map[int]bool{}, last: map[string]int{}}
	c.strict, c.waits = c.IntN(2) == 0, c.IntN(2) == 0
	c.ordered = !c.waits && c.IntN(2) == 0
	c.catalogue = runtime.NewCatalogue(weighed, UserType).WithLimits(
		declare.Limit{Name: "scales", AtOnce: 1}, declare.Limit{Name: "mail", AtOnce: 2}, declare.Limit{Name: "all", AtOnce: 2 + c.IntN(2)})
	if c.IntN(3) == 0 {
		c.all = []string{"all"}
	}
	c.open(t, env.Target(t))
	return c
}

// open begins a life of the bus.
func (c *chance) open(t *testing.T, target string) {
	t.Helper()
	c.Fixture = c.env.ReopenWith(t, target, c.catalogue)
	clear(c.running)
	opts := []runtime.SubscribeOption{runtime.WithConcurrency(3), runtime.WithRetry(retry.MaxAttempts(4), retry.BaseDelay(2*time.Second))}
	if c.strict {
		opts = append(opts, runtime.WithStrictOrder())
	}
	c.handleWeighed("keyed", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		c.begin(e.Payload)
		defer c.leave(fmt.Sprint("scales ", e.Payload.Weight), "mail")
		return c.work(ctx, e.Payload.Number, e.Attempt)
	}, append(opts, c.limited("scales by weight", "mail"))...)
	c.handleWeighed("plain", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		c.enter("mail")
		defer c.leave("mail")
		return c.work(ctx, e.Payload.Number+1000, e.Attempt)
	}, c.limited("mail"))
	c.handleUsers("asker", func(ctx context.Context, e runtime.Event[UserCreated]) error {
		r, err := runtime.Publish(ctx, c.Bus, weighed, OrderPlaced{Number: 1 << 20, OrderID: e.Payload.Name, Weight: 1}, runtime.Immediately())
		if err == nil {
			_, err = r.Wait(ctx)
		}
		return err
	}, c.limited("mail"), runtime.WithConcurrency(2), runtime.WithTimeout(24*time.Hour))
	_, err := runtime.SubscribeBatch(c.Bus, weighed, "batch", func(ctx context.Context, _ []runtime.Event[OrderPlaced]) error {
		c.enter("mail")
		defer c.leave("mail")
		rest(ctx, time.Second)
		return nil
	}, c.limited("mail"), runtime.WithBatch(3, time.Second))
	Must(t, err)
	c.MustStart()
}

func (c *chance) limited(by ...string) runtime.SubscribeOption {
	return limitedBy(append(by, c.all...)...)
}

func (c *chance) enter(limits ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range limits {
		most := 1
		if l == "mail" {
			most = 2
		}
		if c.running[l]++; c.running[l] > most {
			c.T.Errorf("%d with limit %s run at once", c.running[l], l)
		}
	}
}

func (c *chance) leave(limits ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range limits {
		c.running[l]--
	}
}

// begin is enter for keyed events, whose order it checks.
func (c *chance) begin(p OrderPlaced) {
	c.enter(fmt.Sprint("scales ", p.Weight), "mail")
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ordered || c.tried[p.Number] {
		return
	}
	c.tried[p.Number] = true
	if c.last[p.OrderID] > p.Number {
		c.T.Errorf("%d of order %s begins after %d", p.Number, p.OrderID, c.last[p.OrderID])
	}
	c.last[p.OrderID] = p.Number
}

// rest sleeps until the context ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// work is what a handler does.
func (c *chance) work(ctx context.Context, number, attempt int) error {
	r := rand.New(rand.NewPCG(uint64(number), uint64(attempt)))
	rest(ctx, time.Duration(r.IntN(4))*time.Second)
	switch n := r.IntN(20); {
	case n < 5:
		return ErrBoom
	case n < 7:
		return runtime.Snooze(time.Duration(1+r.IntN(20)) * time.Second)
	case n == 7:
		return runtime.Permanent(ErrBoom)
	case n == 8:
		return runtime.Discard("not wanted")
	default:
		return nil
	}
}

// step lets something happen.
func (c *chance) step(t *testing.T) {
	ctx := t.Context()
	switch n := c.IntN(30); {
	case n < 14:
		c.number++
		var opts []runtime.PublishOption
		if !c.ordered && c.IntN(5) == 0 {
			opts = append(opts, runtime.WithPriority(runtime.PriorityHigh))
		}
		if c.IntN(6) == 0 {
			opts = append(opts, runtime.WithExpiry(time.Duration(1+c.IntN(30))*time.Second))
		}
		c.receipts = append(c.receipts, c.weigh(c.number, string(rune('A'+c.IntN(3))), 1+c.IntN(3), opts...))
	case n < 16:
		if c.waits {
			c.users(string(rune('A' + c.IntN(3))))
		}
	case n < 18:
		Must(t, c.PauseSubscription(ctx, "keyed", ""))
		time.Sleep(time.Duration(c.IntN(20)) * time.Second)
		Must(t, c.ResumeSubscription(ctx, "keyed"))
	case n == 18:
		Must(t, c.PauseTypes(ctx, "order.placed", ""))
		time.Sleep(time.Duration(c.IntN(20)) * time.Second)
		Must(t, c.ResumeTypes(ctx, "order.placed"))
	case n < 22 && len(c.receipts) > 0:
		r := c.receipts[c.IntN(len(c.receipts))]
		c.Cancel(ctx, r.ID) // it may be over, or begun
	case n == 22 && !c.ordered:
		_, err := c.Replay(ctx, "keyed", event.ReplayFilter{})
		Must(t, err)
	case n == 23 && !c.ordered && len(c.receipts) > 0:
		_, err := c.Replay(ctx, "keyed", event.ReplayFilter{From: c.receipts[c.IntN(len(c.receipts))].ID})
		Must(t, err)
	case n == 24:
		target := c.Path
		c.Stop()
		c.open(t, target)
	case n == 25:
		target := c.Killed()
		c.open(t, target)
	case n == 26:
		limiter, err := c.Limiter("scales")
		Must(t, err)
		key := fmt.Sprint(1 + c.IntN(3))
		hold := time.Duration(c.IntN(10)) * time.Second
		go limiter.DoFor(context.Background(), key, func(context.Context) error { time.Sleep(hold); return nil })
	}
	time.Sleep(time.Duration(c.IntN(2000)) * time.Millisecond)
}

func (env *Env) TestWhateverHappensToDeliveriesWithLimitsNoneIsStuckAndNoRoomIsLost(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := env.newChance(t, seed)
				for range 60 {
					c.step(t)
				}
				limited, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
				defer cancel()
				if err := c.WaitIdle(limited); err != nil {
					for _, s := range c.Stats().Subscriptions {
						t.Logf("%s: %d wait, %+v", s.Name, s.Limited, s.Counts)
					}
					t.Fatalf("something is stuck: %v", err)
				}
				for _, s := range c.Stats().Subscriptions {
					if s.Limited != 0 {
						t.Errorf("%d deliveries of %s wait for limits", s.Limited, s.Name)
					}
				}
				c.hasRoom(t, "mail", "", 2)
				for weight := range 3 {
					c.hasRoom(t, "scales", fmt.Sprint(weight+1), 1)
				}
			})
		})
	}
}

// hasRoom fails the test unless all places of a limit are free.
func (f *Fixture) hasRoom(t *testing.T, name, key string, places int) {
	t.Helper()
	limiter, err := f.Limiter(name)
	Must(t, err)
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, places)
	for range places {
		go func() {
			ended <- limiter.DoFor(limited, key, func(ctx context.Context) error { time.Sleep(40 * time.Second); return nil })
		}()
	}
	var all []error
	for range places {
		all = append(all, <-ended)
	}
	if err := errors.Join(all...); err != nil {
		t.Errorf("of limit %s %s not all %d places are free: %v", name, key, places, err)
	}
}
