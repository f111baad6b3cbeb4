package systest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// modelSubscription is a durable name of the model test, and how it is handled.
type modelSubscription struct {
	name          string
	pattern       string
	concurrency   int
	strict        bool
	keyed         bool // one handler per key at a time
	late          bool // not there at the beginning
	fromBeginning bool
	policy        retry.Policy
	timeout       time.Duration
	subscribe     func(bus *runtime.Bus, handle func(context.Context, seen) error, opts ...runtime.SubscribeOption) (*runtime.Subscription, error)

	// Under model.mu:
	exists      bool
	attachments []*attachment // of this life
	firsts      []*pair       // in the order of their first executions
}

// drawSubscriptions returns one subscription of each kind.
func drawSubscriptions(random *rand.Rand) []*modelSubscription {
	all := []*modelSubscription{
		{name: "one by one", pattern: "order.placed", concurrency: 1},
		{name: "four workers", pattern: "order.placed", concurrency: 4, keyed: true},
		{name: "strict", pattern: "order.placed", concurrency: 2, keyed: true, strict: true},
		{name: "namespace", pattern: "order.*", concurrency: 1},
		{name: "everything", pattern: "*", concurrency: 1},
		{name: "no keys", pattern: "order.paid", concurrency: 3},
		{name: "late", pattern: "*", concurrency: 1, late: true},
		{name: "late from the beginning", pattern: "order.placed", concurrency: 2, keyed: true, late: true, fromBeginning: true},
	}
	for _, s := range all {
		s.timeout = time.Duration(200_001+random.IntN(2_000_000)) * time.Microsecond
		s.policy = Exact(
			retry.MaxAttempts(1+random.IntN(4)),
			retry.WithBackoff([]retry.Backoff{retry.Exponential, retry.Linear, retry.Constant, retry.None}[random.IntN(4)]),
			retry.BaseDelay(time.Duration(random.IntN(2_000_000))*time.Microsecond),
			retry.MaxDelay(3*time.Second),
		)
		switch s.pattern {
		case "order.placed":
			s.subscribe = func(bus *runtime.Bus, handle func(context.Context, seen) error, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
				return runtime.Subscribe(bus, PlacedType, s.name, seeing[OrderPlaced](handle), opts...)
			}
		case "order.paid":
			s.subscribe = func(bus *runtime.Bus, handle func(context.Context, seen) error, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
				return runtime.Subscribe(bus, PaidType, s.name, seeing[OrderPaid](handle), opts...)
			}
		case "order.*":
			s.subscribe = func(bus *runtime.Bus, handle func(context.Context, seen) error, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
				return runtime.SubscribeNamespace(bus, s.pattern, s.name, seeing[OrderEvent](handle), opts...)
			}
		default:
			s.subscribe = func(bus *runtime.Bus, handle func(context.Context, seen) error, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
				return runtime.SubscribePattern(bus, s.pattern, s.name, seeing[runtime.Raw](handle), opts...)
			}
		}
	}
	return all
}

// wants says whether events of a type are for the subscription.
func (s *modelSubscription) wants(typ string) bool {
	return s.pattern == "*" || s.pattern == typ || s.pattern == "order.*" && strings.HasPrefix(typ, "order.")
}

func (s *modelSubscription) options() []runtime.SubscribeOption {
	opts := []runtime.SubscribeOption{
		runtime.WithConcurrency(s.concurrency), runtime.WithTimeout(s.timeout),
		runtime.WithRetry(retry.MaxAttempts(s.policy.MaxAttempts), retry.WithBackoff(s.policy.Backoff), retry.BaseDelay(s.policy.BaseDelay),
			retry.MaxDelay(s.policy.MaxDelay), retry.Multiplier(s.policy.Multiplier), retry.Jitter(s.policy.Jitter)),
	}
	if s.strict {
		opts = append(opts, runtime.WithStrictOrder())
	}
	if s.fromBeginning {
		opts = append(opts, runtime.FromBeginning())
	}
	return opts
}

// publish publishes the event whatever its type.
func (e *modelEvent) publish(ctx context.Context, bus *runtime.Bus, opts ...runtime.PublishOption) (*runtime.Receipt, error) {
	number := strconv.FormatUint(e.number, 10)
	switch e.typ {
	case "order.placed":
		return runtime.Publish(ctx, bus, PlacedType, OrderPlaced{OrderID: e.key, Number: int(e.number)}, opts...)
	case "order.paid":
		return runtime.Publish(ctx, bus, PaidType, OrderPaid{OrderID: number}, opts...)
	default:
		return runtime.Publish(ctx, bus, UserType, UserCreated{Name: number}, opts...)
	}
}

// seen is an event as a handler of any type sees it.
type seen struct {
	id           uuid.UUID
	typ          string
	number       uint64
	subscription string
	attempt, max int
}

// seeing makes a handler of any type.
func seeing[T any](handle func(context.Context, seen) error) runtime.Handler[T] {
	return func(ctx context.Context, e runtime.Event[T]) error {
		return handle(ctx, seen{
			id: e.ID, typ: e.Type, number: numberOf(e.Payload),
			subscription: e.Subscription, attempt: e.Attempt, max: e.MaxAttempts,
		})
	}
}

// numberOf returns the number of the event with the payload.
func numberOf(payload any) uint64 {
	text := ""
	switch p := payload.(type) {
	case OrderPlaced:
		return uint64(p.Number)
	case OrderPaid:
		text = p.OrderID
	case UserCreated:
		text = p.Name
	case runtime.Raw:
		var any struct {
			Number  uint64 `json:"number"`
			OrderID string `json:"order_id"`
			Name    string `json:"name"`
		}
		if json.Unmarshal(p, &any); any.Number > 0 {
			return any.Number
		}
		text = any.OrderID + any.Name
	}
	number, _ := strconv.ParseUint(text, 10, 64)
	return number
}

// plan says what a handler will do.
type plan struct {
	children int           // events that it publishes with its context, first
	takes    time.Duration // then it works for so long
	deaf     bool          // and does not notice that its context ends
	finishes bool          // interrupted, it succeeds all the same
	failure  string        // and then fails so; "" for a success
}

// firstChild is above the numbers of events that handlers did not publish.
const firstChild = 1 << 20

// draw decides what an execution does by the seed, the event, the subscription
// and how often it was executed before, so that a seed means the same whatever
// the order in which handlers run.
func (m *model) draw(p *pair) (drawn plan) {
	random := m.randomOf(p)
	if p.event.number < firstChild && random.IntN(5) == 0 {
		drawn.children = 1 + random.IntN(3)
	}
	switch random.IntN(8) {
	case 0, 1:
		drawn.takes = time.Duration(random.IntN(10_000)) * time.Microsecond
	case 2:
		drawn.takes = time.Duration(random.Int64N(int64(p.sub.timeout)))
	}
	drawn.deaf, drawn.finishes = random.IntN(3) == 0, random.IntN(2) == 0
	switch random.IntN(20) {
	case 0, 1, 2, 3:
		drawn.failure = "error"
	case 4:
		drawn.failure = "panic"
	case 5:
		drawn.failure = "goexit"
	case 6:
		drawn.takes = p.sub.timeout + time.Duration(random.IntN(3_000_000))*time.Microsecond + 1
	}
	return drawn
}

func (m *model) randomOf(p *pair) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, p.event.number, p.sub.name, p.runs)
	return rand.New(rand.NewPCG(m.seed, h.Sum64()))
}

// errIgnored is the result of handlers in a process that was killed.
var errIgnored = errors.New("this process was killed")

// handle is the handler of every subscription.
func (at *attachment) handle(ctx context.Context, e seen) error {
	r := at.model.begin(at, e)
	if r == nil {
		return errIgnored
	}
	for i := range r.plan.children {
		at.stage(ctx, r, i)
	}
	interrupted := at.work(ctx, r.plan)
	kind := r.plan.failure
	switch {
	case interrupted && r.plan.finishes:
		kind = ""
	case interrupted:
		kind = "error"
	}
	at.model.returns(ctx, r, kind)
	at.publishLate(ctx, r)
	switch kind {
	case "panic":
		panic("kaboom")
	case "goexit":
		goruntime.Goexit()
	case "error":
		return ErrBoom
	}
	return nil
}

// work takes its time, and says whether the context ended it.
func (at *attachment) work(ctx context.Context, p plan) (interrupted bool) {
	if p.takes == 0 {
		return false
	}
	ended := ctx.Done()
	if p.deaf {
		ended = nil
	}
	timer := time.NewTimer(p.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ended:
		return true
	case <-at.gone:
	}
	return false
}

// stage publishes an event that exists when the handler succeeds.
func (at *attachment) stage(ctx context.Context, r *run, i int) {
	random := at.model.randomOf(r.pair)
	child := &modelEvent{typ: "order.paid"}
	for range i + 1 {
		child.number = firstChild + random.Uint64N(1<<50)
	}
	if child.number%2 == 0 {
		child.typ, child.key = "order.placed", string(rune('A'+child.number%3))
	}
	receipt, err := child.publish(ctx, at.bus)
	if err != nil {
		if !at.isGone() {
			at.model.t.Errorf("%v cannot publish: %v", r.pair, err)
		}
		return
	}
	child.id = receipt.ID
	r.children = append(r.children, child)
}

// publishLate tries to publish when the attempt is over, if it is.
func (at *attachment) publishLate(ctx context.Context, r *run) {
	if !r.lapsed || at.isGone() {
		return
	}
	_, err := runtime.Publish(ctx, at.bus, UserType, UserCreated{Name: "late"})
	if !errors.Is(err, runtime.ErrAttemptOver) {
		at.model.t.Errorf("%v publishes after its attempt was over: %v, want ErrAttemptOver", r.pair, err)
	}
}

func (at *attachment) isGone() bool {
	select {
	case <-at.gone:
		return true
	default:
		return false
	}
}
