package conformance

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
	members       int // of a group; else 0
	batch         int // the size of its batches; else 0
	snoozes       int // that a handler may ask for
	policy        retry.Policy
	timeout       time.Duration

	// Under model.mu:
	exists      bool
	attachments []*attachment // of this life
	firsts      []*pair       // in the order of their first executions
	begins      []time.Time   // of handlers, the last ones
	busy        time.Time     // see model_busy.go
}

// modelBatchWait is how long batches wait for more.
const modelBatchWait = 150 * time.Millisecond

// drawSubscriptions returns one subscription of each kind.
func drawSubscriptions(random *rand.Rand) []*modelSubscription {
	all := []*modelSubscription{
		{name: "one by one", pattern: "order.placed", concurrency: 1},
		{name: "four workers", pattern: "order.placed", concurrency: 4, keyed: true},
		{name: "strict", pattern: "order.placed", concurrency: 2, keyed: true, strict: true},
		{name: "namespace", pattern: "order.*", concurrency: 1},
		{name: "everything", pattern: "*", concurrency: 1},
		{name: "no keys", pattern: "order.paid", concurrency: 3},
		{name: "group", pattern: "order.placed", concurrency: 2, keyed: true, members: 3},
		{name: "batches", pattern: "order.placed", concurrency: 1, batch: 4},
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
		s.snoozes = 1 + s.policy.MaxAttempts%2
	}
	return all
}

// subscribe attaches the handlers of a name.
func (s *modelSubscription) subscribe(at *attachment, opts ...runtime.SubscribeOption) (err error) {
	switch {
	case s.members > 0:
		for i := range s.members {
			handle := func(ctx context.Context, e seen) error { return at.handle(ctx, i, e) }
			if _, err = runtime.Subscribe(at.bus, PlacedType, fmt.Sprint("member ", i), seeing[OrderPlaced](handle), append(opts, runtime.InGroup(s.name))...); err != nil {
				return err
			}
		}
		return nil
	case s.batch > 0:
		at.Subscription, err = runtime.SubscribeBatch(at.bus, PlacedType, s.name, at.handleBatch, append(opts, runtime.WithBatch(s.batch, modelBatchWait))...)
		return err
	}
	handle := func(ctx context.Context, e seen) error { return at.handle(ctx, 0, e) }
	switch s.pattern {
	case "order.placed":
		at.Subscription, err = runtime.Subscribe(at.bus, PlacedType, s.name, seeing[OrderPlaced](handle), opts...)
	case "order.paid":
		at.Subscription, err = runtime.Subscribe(at.bus, PaidType, s.name, seeing[OrderPaid](handle), opts...)
	case "order.*":
		at.Subscription, err = runtime.SubscribeNamespace(at.bus, s.pattern, s.name, seeing[OrderEvent](handle), opts...)
	default:
		at.Subscription, err = runtime.SubscribePattern(at.bus, s.pattern, s.name, seeing[runtime.Raw](handle), opts...)
	}
	return err
}

// wants says whether events of a type are for the subscription.
func (s *modelSubscription) wants(typ string) bool {
	return s.pattern == "*" || s.pattern == typ || s.pattern == "order.*" && strings.HasPrefix(typ, "order.")
}

func (s *modelSubscription) options() []runtime.SubscribeOption {
	opts := []runtime.SubscribeOption{
		runtime.WithConcurrency(s.concurrency), runtime.WithTimeout(s.timeout), runtime.WithMaxSnoozes(s.snoozes),
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
	if e.priority != runtime.PriorityNormal {
		opts = append(opts, runtime.WithPriority(e.priority))
	}
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

func seeingOne[T any](e runtime.Event[T]) seen {
	return seen{
		id: e.ID, typ: e.Type, number: NumberOf(e.Payload),
		subscription: e.Subscription, attempt: e.Attempt, max: e.MaxAttempts,
	}
}

// seeing makes a handler of any type.
func seeing[T any](handle func(context.Context, seen) error) runtime.Handler[T] {
	return func(ctx context.Context, e runtime.Event[T]) error { return handle(ctx, seeingOne(e)) }
}

// NumberOf returns the number of the event of the suite that has this payload.
func NumberOf(payload any) uint64 {
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
	ends     string        // and then ends so: "" for a success, or a kind of failure, "permanent", "snooze", "discard"
	snooze   time.Duration
}

// firstChild is above the numbers of events that handlers did not publish.
const firstChild = 1 << 20

// draw decides what an execution does by the seed, the event, the subscription
// and how often it was executed before, so that a seed means the same whatever
// the order in which handlers run. It takes some time, which is hardly ever that of another.
func (m *model) draw(p *pair) (drawn plan) {
	random := m.randomOf(p)
	if p.event.number < firstChild && random.IntN(5) == 0 && p.sub.batch == 0 {
		drawn.children = 1 + random.IntN(3)
	}
	drawn.takes = time.Duration(1+random.IntN(400))*time.Microsecond + time.Duration(random.IntN(1000))
	switch random.IntN(8) {
	case 0, 1:
		drawn.takes += time.Duration(random.IntN(10_000)) * time.Microsecond
	case 2:
		drawn.takes += time.Duration(random.Int64N(int64(p.sub.timeout - 500*time.Microsecond)))
	}
	drawn.deaf, drawn.finishes = random.IntN(3) == 0, random.IntN(2) == 0
	drawn.snooze = 100*time.Millisecond + time.Duration(random.IntN(4_000_000))*time.Microsecond
	if m.healthy {
		return drawn
	}
	switch random.IntN(24) {
	case 0, 1, 2, 3:
		drawn.ends = "error"
	case 4:
		drawn.ends = "panic"
	case 5:
		drawn.ends = "goexit"
	case 6:
		drawn.takes = p.sub.timeout + time.Duration(random.IntN(3_000_000))*time.Microsecond + 1
	case 7, 8:
		if !p.doubt {
			drawn.ends = "snooze"
		}
	case 9:
		drawn.ends = "discard"
	case 10:
		drawn.ends = "permanent"
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

// handle is the handler of every subscription without batches, or a member of a group.
func (at *attachment) handle(ctx context.Context, member int, e seen) error {
	r := at.model.begin(at, member, e)
	if r == nil {
		return errIgnored
	}
	for i := range r.plan.children {
		at.stage(ctx, r, i)
	}
	interrupted := at.work(ctx, r.plan)
	ends := r.plan.outcome(interrupted)
	at.model.returns(ctx, r, ends)
	at.publishLate(ctx, r)
	switch ends {
	case "panic":
		panic("kaboom")
	case "goexit":
		goruntime.Goexit()
	}
	return r.plan.err(ends)
}

// handleBatch is the handler of batches. It takes as long as the first event says, and each event ends as it says.
func (at *attachment) handleBatch(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
	all := make([]seen, len(events))
	for i, e := range events {
		all[i] = seeingOne(e)
	}
	runs := at.model.beginBatch(at, all)
	if runs == nil {
		return errIgnored
	}
	first := runs[0].plan
	interrupted := at.work(ctx, first)
	ends := make([]string, len(runs))
	whole := ""
	for i, r := range runs {
		ends[i] = r.plan.outcome(interrupted)
		if interrupted {
			ends[i] = first.outcome(true)
		}
	}
	if ends[0] == "panic" || ends[0] == "goexit" { // all have failed
		whole = ends[0]
	}
	for i := range ends {
		if whole != "" {
			ends[i] = whole
		} else if ends[i] == "panic" || ends[i] == "goexit" {
			ends[i] = "error"
		}
	}
	at.model.returns(ctx, runs[0], ends[0])
	for i, r := range runs[1:] {
		at.model.returns(ctx, r, ends[i+1])
	}
	switch whole {
	case "panic":
		panic("kaboom")
	case "goexit":
		goruntime.Goexit()
	}
	var failed runtime.BatchError
	for i, r := range runs {
		failed.Set(i, r.plan.err(ends[i]))
	}
	return failed.Err()
}

// outcome returns how the handler ends.
func (p plan) outcome(interrupted bool) string {
	switch {
	case interrupted && p.finishes:
		return ""
	case interrupted:
		return "error"
	}
	return p.ends
}

func (p plan) err(ends string) error {
	switch ends {
	case "error":
		return ErrBoom
	case "permanent":
		return runtime.Permanent(ErrBoom)
	case "snooze":
		return runtime.Snooze(p.snooze)
	case "discard":
		return runtime.Discard("its handler says so")
	}
	return nil
}

// work takes its time, and says whether the context ended it.
func (at *attachment) work(ctx context.Context, p plan) (interrupted bool) {
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
	child := &modelEvent{typ: "order.paid", priority: runtime.PriorityNormal}
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
