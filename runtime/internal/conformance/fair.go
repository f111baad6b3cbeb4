package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// What waits for its key leaves the way of others: see runtime/internal/dispatch/waitlists.go.

// Job is work for a customer.
type Job struct {
	Customer string `json:"customer"`
	Number   int    `json:"number"`
}

// Validate does nothing.
func (Job) Validate() error { return nil }

var jobKeys = map[string]func(Job) string{"customer": func(j Job) string { return j.Customer }}

// Jobs without and with a partition key, and what all have in common.
var (
	freeJob  = runtime.Define(runtime.Spec[Job]{Name: "job.free", Settings: Within(30*time.Second, Exact()), LimitKeys: jobKeys})
	keyedJob = runtime.Define(runtime.Spec[Job]{
		Name: "job.keyed", Settings: Within(30*time.Second, Exact()), LimitKeys: jobKeys, PartitionBy: func(j Job) string { return j.Customer },
	})
	jobCatalogue = runtime.NewCatalogue(freeJob, keyedJob)
)

// crowd is a noisy customer, and others.
type crowd struct {
	*Fixture
	mu     sync.Mutex
	noisy  []int // handled, by number
	waited []time.Duration
	took   map[string]bool // the others
}

// handle handles a job in five milliseconds.
func (c *crowd) handle(_ context.Context, e runtime.Event[Job]) error {
	c.mu.Lock()
	switch who := e.Payload.Customer; {
	case who == "noisy":
		c.noisy = append(c.noisy, e.Payload.Number)
	case !c.took[who]:
		c.took[who] = true
		c.waited = append(c.waited, time.Since(e.PublishedAt))
	}
	c.mu.Unlock()
	time.Sleep(5 * time.Millisecond)
	return nil
}

// publish publishes jobs, many at once.
func (c *crowd) publish(of *runtime.EventType[Job], n int, customer func(i int) string) {
	c.T.Helper()
	for from := 0; from < n; from += 1000 {
		var page []Job
		for i := from; i < min(n, from+1000); i++ {
			page = append(page, Job{customer(i), i})
		}
		_, err := runtime.PublishBatch(c.T.Context(), c.Bus, of, page)
		Must(c.T, err)
	}
}

// ordered fails the test if those of the noisy one were not handled once, in order.
func (c *crowd) ordered(n int) {
	c.T.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.noisy) != n || !slices.IsSorted(c.noisy) || len(slices.Compact(slices.Clone(c.noisy))) != n {
		c.T.Errorf("%d of %d of the noisy one were handled, in order: %v", len(c.noisy), n, slices.IsSorted(c.noisy))
	}
}

// crowds are the ways in which a customer can be in the way of others.
var crowds = []struct {
	name string
	of   *runtime.EventType[Job]
	opts []runtime.SubscribeOption
}{
	{"limit", freeJob, []runtime.SubscribeOption{limitedBy("customer by customer")}},
	{"key", keyedJob, nil},
	{"strict", keyedJob, []runtime.SubscribeOption{runtime.WithStrictOrder()}},
	{"both", keyedJob, []runtime.SubscribeOption{limitedBy("customer by customer")}},
}

// A tenant with many events and a limit of one at a time, or with one partition key, does not keep others waiting: each
// of them waits for a turn of those that go before, on the workers that the tenant leaves. The same after a kill.
func (env *Env) TestACustomerWithManyEventsDoesNotKeepOthersWaiting(t *testing.T) {
	many, others := 3000, 200
	for _, way := range crowds {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := runtime.WithLimit(declare.Limit{Name: "customer", AtOnce: 1})
				c := &crowd{took: map[string]bool{}}
				begin := func(target string) {
					c.Fixture = env.ReopenWith(t, target, jobCatalogue, limit)
					_, err := runtime.Subscribe(c.Bus, way.of, "work", c.handle, append(way.opts, runtime.WithConcurrency(8))...)
					Must(t, err)
					c.MustStart()
				}
				began := time.Now()
				begin(env.Target(t))
				c.publish(way.of, many, func(int) string { return "noisy" })
				time.Sleep(time.Second) // most of them wait
				for life := range 2 {
					c.publish(way.of, others, func(i int) string { return fmt.Sprint(life, "-", i) })
					most := time.Duration(others)*5*time.Millisecond/7 + 150*time.Millisecond
					time.Sleep(most)
					c.mu.Lock()
					if len(c.waited) != others || slices.Max(c.waited) > most {
						t.Errorf("in life %d, %d of %d others were handled within %v, the slowest after %v, beside %d of the noisy one",
							life, len(c.waited), others, most, slices.Max(append(c.waited, 0)), len(c.noisy))
					}
					c.waited = nil
					c.mu.Unlock()
					if life == 0 {
						begin(c.Killed())
					}
				}
				c.Idle()
				c.mu.Lock()
				seen := map[int]bool{}
				c.noisy = slices.DeleteFunc(c.noisy, func(n int) bool { // the one that the kill has interrupted was handled twice
					again := seen[n]
					seen[n] = true
					return again
				})
				c.mu.Unlock()
				c.ordered(many)
				if took := time.Since(began); took > time.Duration(many)*6*time.Millisecond+5*time.Second {
					t.Errorf("all of it took %v: one after the other is %v", took, time.Duration(many)*5*time.Millisecond)
				}
			})
		})
	}
}

// One event type of several that has no room in its limit does not keep the others waiting.
func (env *Env) TestALimitedTypeDoesNotKeepOthersOfItsSubscriptionWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{took: map[string]bool{}}
		spec := runtime.Spec[Job]{Name: "job.keyed", Settings: Within(30*time.Second, Exact())}
		spec.Settings.Limits = []declare.LimitUse{{Limit: "mail"}}
		mail := runtime.Define(spec)
		c.Fixture = env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(freeJob, mail), runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		_, err := runtime.SubscribePattern(c.Bus, "*", "all", func(ctx context.Context, e runtime.Event[runtime.Raw]) error {
			job := runtime.Event[Job]{Head: e.Head}
			Must(t, json.Unmarshal(e.Payload, &job.Payload))
			return c.handle(ctx, job)
		}, runtime.WithConcurrency(8))
		Must(t, err)
		c.MustStart()
		c.publish(mail, 1000, func(int) string { return "noisy" })
		time.Sleep(time.Second / 2)
		c.publish(freeJob, 1, func(int) string { return "quiet" })
		time.Sleep(200 * time.Millisecond)
		c.mu.Lock()
		if len(c.waited) != 1 || len(c.noisy) > 400 {
			t.Errorf("%d of 1 of the other type was handled, beside %d of the limited one", len(c.waited), len(c.noisy))
		}
		c.mu.Unlock()
		c.Idle()
		c.ordered(1000)
	})
}
