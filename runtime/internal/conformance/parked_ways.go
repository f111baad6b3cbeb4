package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// Tests that kill real processes share these ways in which deliveries are parked.

// parkedWay is why most deliveries of a subscription are parked: those of its customer "noisy".
type parkedWay struct {
	name string // of the subscription
	of   *runtime.EventType[Job]
	opts []runtime.SubscribeOption
}

var parkedWays = func() []parkedWay {
	byCustomer := func(j Job) string { return j.Customer }
	job := func(name string, key func(Job) string) *runtime.EventType[Job] {
		return runtime.Define(runtime.Spec[Job]{Name: "job." + name, Settings: Within(30*time.Second, Exact()), LimitKeys: jobKeys, PartitionBy: key})
	}
	return []parkedWay{
		{"limit", job("limit", nil), []runtime.SubscribeOption{limitedBy("customer by customer")}},
		{"key", job("key", byCustomer), nil},
		{"strict", job("strict", byCustomer), []runtime.SubscribeOption{runtime.WithStrictOrder()}},
		{"breaker", job("breaker", byCustomer), []runtime.SubscribeOption{
			runtime.WithBreaker(breaker.On(), breaker.By("customer"), breaker.OpenFor(10*time.Millisecond)),
			runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(5*time.Millisecond), retry.MaxAttempts(1000)),
		}},
		{"pause", job("pause", byCustomer), nil},
	}
}()

// ParkedLimit is the limit of a customer.
var ParkedLimit = runtime.WithLimit(declare.Limit{Name: "customer", AtOnce: 1})

// ParkedCatalogue has the event types of all ways.
func ParkedCatalogue() *runtime.Catalogue {
	var all []runtime.Definition
	for _, w := range parkedWays {
		all = append(all, w.of)
	}
	return runtime.NewCatalogue(all...)
}

// SubscribeParked subscribes in all ways. Handle is called for each attempt.
func SubscribeParked(bus *runtime.Bus, handle func(way string, e runtime.Event[Job]) error) error {
	for _, w := range parkedWays {
		_, err := runtime.Subscribe(bus, w.of, w.name, func(_ context.Context, e runtime.Event[Job]) error { return handle(w.name, e) },
			append(w.opts, runtime.FromBeginning(), runtime.WithConcurrency(8))...)
		if err != nil {
			return err
		}
	}
	return nil
}

// PublishParked publishes jobs of a noisy customer in all ways, and of 20 others, which come later in the order of the log.
// The numbers of a later call are larger.
func PublishParked(bus *runtime.Bus, noisy int, published func(*runtime.Receipt)) error {
	from := int(time.Now().UnixMicro())
	for _, w := range parkedWays {
		var page []Job
		for n := range noisy + 20 {
			customer := "noisy"
			if n >= noisy {
				customer = fmt.Sprint("c", n-noisy)
			}
			page = append(page, Job{Customer: customer, Number: from + n})
		}
		receipts, err := runtime.PublishBatch(context.Background(), bus, w.of, page)
		if err != nil {
			return err
		}
		for _, one := range receipts {
			published(one)
		}
	}
	return nil
}
