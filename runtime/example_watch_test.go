package runtime_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// meter stands for the instruments of a metrics library such as OpenTelemetry.
type meter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (m *meter) add(name string, attributes ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = map[string]int{}
	}
	m.counts[name+"{"+strings.Join(attributes, ",")+"}"]++
}

// An observer feeds the metrics library of the program.
func ExampleWithObserver() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	var m meter
	bus, _ := events.Open(ctx, path, silent, runtime.WithObserver(observe.Observer{
		Published: func(i observe.PublishedInfo) { m.add("events.published", i.Type) },
		Handled:   func(i observe.HandledInfo) { m.add("events.handled", i.Subscription) },
		Failed:    func(i observe.FailedInfo) { m.add("events.failed", i.Subscription, i.Kind) },
		Dead:      func(i observe.DeadInfo) { m.add("events.dead", i.Subscription, i.Reason) },
	}))
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome-mail",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			if e.Attempt == 1 {
				return errors.New("the mail server is asleep")
			}
			return nil
		}, runtime.WithRetry(retry.BaseDelay(time.Millisecond)))
	bus.Start(ctx)
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	bus.WaitIdle(ctx)

	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Println(m.counts)
	// Output:
	// map[events.failed{welcome-mail,error}:1 events.handled{welcome-mail}:1 events.published{user.registered}:1]
}

// The health of a bus with other thresholds, and a pager.
func ExampleWithHealth() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	health := observe.DefaultHealth()
	health.DeadLetters = 0 // any is one too many
	bus, _ := events.Open(ctx, path, silent, runtime.WithHealth(health, func(c observe.HealthCheck) {
		fmt.Println("page somebody:", c.Name, c.Exceeded, c.Value, c.Mostly)
	}))
	defer bus.Shutdown(ctx)

	for _, check := range bus.Health().Checks {
		fmt.Println(check.Name, check.Threshold)
	}
	// Output:
	// retries 0.1
	// dead_letters 0
	// timeouts 0.05
	// duplicates 0.2
	// unhandled 0
	// unknown_types 0
	// saturated 0
	// stalled 0
	// newer_versions 1
	// unwritable 0
	// held_up 0
}

// The statistics among the other variables of a program, at /debug/vars.
func ExampleBus_Stats_expvar() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	expvar.Publish("events", expvar.Func(func() any { return bus.Stats() }))
	fmt.Println(strings.HasPrefix(expvar.Get("events").String(), `{"recovery":`))
	// Output:
	// true
}

// What Prometheus scrapes.
func ExampleBus_WriteMetrics() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	http.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		if err := bus.WriteMetrics(r.Context(), w); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	// Output:
}

// Where every subscription of the file stands, handled here or not.
func ExampleBus_Lag() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome-mail",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error { return nil })
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})

	lags, _ := bus.Lag(ctx)
	for _, lag := range lags {
		fmt.Println(lag.Subscription, lag.Backlog, lag.Here)
	}
	// Output:
	// charge-card 0 false
	// send-receipt 0 false
	// print-gift-card 0 false
	// fulfil 0 false
	// keep-books 0 false
	// write-report 0 false
	// credit-notes 0 false
	// welcome-mail 1 true
}
