package systest

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/apirecord"
	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/gen/bind"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/testhook"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// Every call that takes a context keeps to it, whatever blocks: code of the program, in whichever place it was called,
// or another process that holds the lock of the file. The calls are found in the compiled packages, so that a new one
// fails the test until it is in the table.

// slack is how long after its context a call may return: a handler has a second to notice it, and what blocks beside
// that a moment.
const slack = 1300 * time.Millisecond

// blockable is a payload of which code of the program is called in each place where the bus does that.
type blockable struct {
	Number int       `json:"number"`
	Trap   sensitive `json:"trap"`
}

func (p blockable) Validate() error {
	blocks.in("validator", p.Number)
	return nil
}

// sensitive is decoded by code of the program.
type sensitive struct{}

func (sensitive) MarshalJSON() ([]byte, error) { return []byte(`""`), nil }

func (*sensitive) UnmarshalJSON([]byte) error {
	blocks.in("decoding", -1)
	return nil
}

type blockableBefore struct {
	Number int `json:"number"`
}

// blocks is what blocks in the test that runs.
var blocks *blocking

// blocking blocks code of the program in one place.
type blocking struct {
	place   string
	bus     *runtime.Bus
	armed   atomic.Bool   // the handler has published
	reached chan struct{} // closed when it is
	free    chan struct{} // closed when it may go on
}

// in is called by code of the program in a place, for the event of a number.
func (b *blocking) in(place string, number int) {
	if b == nil || b.place != place || number == fine {
		return
	}
	select {
	case <-b.free:
		return
	default:
	}
	select {
	case <-b.reached:
	default:
		close(b.reached)
	}
	<-b.free
}

// fine is the number of an event for which nothing blocks on the goroutine of who publishes it.
const fine = 7

var (
	blockableType = runtime.Define(runtime.Spec[blockable]{
		Name: "blockable", Version: 2, Settings: declare.DefaultSettings(),
		PartitionBy: func(p blockable) string { blocks.in("key", p.Number); return "one" },
		Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(old blockableBefore) (blockable, error) {
			blocks.in("upcast", -1)
			return blockable{Number: old.Number}, nil
		})},
	})
	blockableCatalogue = runtime.NewCatalogue(blockableType)
)

// deaf is an error whose methods block.
type deaf struct{ in string }

func (e deaf) Error() string { blocks.in(e.in+" Error", -1); return "deaf" }
func (e deaf) Is(error) bool { blocks.in(e.in+" Is", -1); return false }
func (e deaf) Unwrap() error { return nil }
func (deaf) LogValue() slog.Value {
	blocks.in("LogValue", -1)
	return slog.StringValue("")
}

// blockingLog is a log handler, such as one on a full pipe.
type blockingLog struct{}

func (blockingLog) Enabled(context.Context, slog.Level) bool { return true }
func (blockingLog) Handle(context.Context, slog.Record) error {
	blocks.in("log handler", -1)
	return nil
}
func (h blockingLog) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h blockingLog) WithGroup(string) slog.Handler      { return h }

// place is where code of the program blocks, and what makes the bus call it there.
type place struct {
	name    string
	handler func(ctx context.Context, e runtime.Event[blockable]) error
	opts    []runtime.SubscribeOption
	tx      func(ctx context.Context, tx runtime.Tx, e runtime.Event[blockable]) error
	batch   bool
	older   bool                                           // the event is of the version before
	then    func(ctx context.Context, b *blockedBus) error // makes it happen, in place of a publish
	own     []string                                       // calls that are blocked themselves: they run that code on the goroutine of their caller
}

// publishing are the calls that run code of the program for what they publish.
var publishing = []string{"Publish", "PublishBatch", "PublishJSON", "bind.Publish", "Request", "bind.Request", "Collect", "bind.Collect"}

func failing(err error) func(context.Context, runtime.Event[blockable]) error {
	return func(context.Context, runtime.Event[blockable]) error { return err }
}

// places are all of them. What an observer is told of, and a handler does, is chosen by the name.
func places() []place {
	blocked := func(name string) func(context.Context, runtime.Event[blockable]) error {
		return func(context.Context, runtime.Event[blockable]) error { blocks.in(name, -1); return nil }
	}
	four := runtime.WithConcurrency(4) // so that keys are computed before the attempt
	return []place{
		{name: "nothing", handler: failing(nil)},
		{name: "lock", handler: failing(nil)},
		{name: "handler", handler: blocked("handler")},
		{name: "transaction", tx: func(context.Context, runtime.Tx, runtime.Event[blockable]) error {
			blocks.in("transaction", -1)
			return nil
		}},
		{name: "commit", handler: func(ctx context.Context, _ runtime.Event[blockable]) error {
			return runtime.Atomically(ctx, func(runtime.Tx) error { blocks.in("commit", -1); return nil })
		}},
		{name: "ephemeral Dead", handler: failing(runtime.Permanent(ErrBoom)), opts: []runtime.SubscribeOption{runtime.Ephemeral()}},
		{name: "decoding", handler: failing(nil), own: []string{"Find", "Await", "PublishJSON"}},
		{name: "upcast", handler: failing(nil), older: true, own: []string{"Find", "Await"}},
		{name: "key", handler: failing(nil), opts: []runtime.SubscribeOption{four}, older: true},
		{name: "validator", handler: failing(nil), then: publish},
		{name: "publish middleware", handler: failing(nil), then: publish, own: publishing},
		{name: "Publishing", handler: failing(nil), then: publish, own: publishing},
		{name: "Published", handler: failing(nil), then: publish, own: publishing},
		{name: "Published of a handler", handler: func(ctx context.Context, e runtime.Event[blockable]) error {
			if e.Payload.Number == fine {
				return nil
			}
			_, err := runtime.Publish(ctx, blocks.bus, blockableType, blockable{Number: fine})
			blocks.armed.Store(true)
			return err
		}, then: publish, own: publishing},
		{name: "matcher", handler: failing(ErrBoom), opts: []runtime.SubscribeOption{runtime.WithPermanentErrors(func(error) bool { blocks.in("matcher", -1); return false })}},
		{name: "error Error", handler: failing(deaf{"error"})},
		{name: "error Is", handler: failing(deaf{"error"})},
		{name: "LogValue", handler: func(_ context.Context, e runtime.Event[blockable]) error {
			runtime.Logger(e).Info("x", "v", deaf{})
			return nil
		}},
		{name: "log handler", handler: failing(ErrBoom)},
		{name: "middleware", handler: failing(nil)},
		{name: "Started", handler: failing(nil)},
		{name: "Handling", handler: failing(nil)},
		{name: "Ended", handler: failing(nil)},
		{name: "Ended of a failure", handler: failing(ErrBoom)},
		{name: "Handled", handler: failing(nil)},
		{name: "Failed", handler: failing(ErrBoom)},
		{name: "Retrying", handler: failing(ErrBoom)},
		{name: "Dead", handler: failing(runtime.Permanent(ErrBoom))},
		{name: "Discarded", handler: failing(runtime.Discard("not needed"))},
		{name: "Snoozed", handler: failing(runtime.Snooze(time.Hour))},
		{name: "Slow", handler: func(ctx context.Context, _ runtime.Event[blockable]) error { <-ctx.Done(); return ctx.Err() }, opts: []runtime.SubscribeOption{runtime.WithSlowAfter(time.Millisecond)}},
		{name: "SlowEvent", handler: failing(ErrBoom)},
		{name: "Batch", batch: true},
		{name: "batch handler", batch: true},
		{name: "Alert", handler: failing(runtime.Permanent(ErrBoom))},
		{name: "Paused", handler: failing(nil), then: func(ctx context.Context, b *blockedBus) error { return b.PauseTypes(ctx, "nothing.*", "") }},
		{name: "Resumed", handler: failing(nil), then: func(ctx context.Context, b *blockedBus) error {
			return errors.Join(b.PauseTypes(ctx, "nothing.*", ""), b.ResumeTypes(ctx, "nothing.*"))
		}},
		{name: "BreakerChanged", handler: failing(ErrBoom), then: several},
		{name: "HealthChanged", handler: failing(runtime.Permanent(ErrBoom)), then: several},
		{name: "health callback", handler: failing(runtime.Permanent(ErrBoom)), then: several},
	}
}

// publish publishes on a goroutine of its own, which blocks.
func publish(ctx context.Context, b *blockedBus) error {
	go runtime.Publish(ctx, b.Bus, blockableType, blockable{})
	return nil
}

// several publishes several events.
func several(ctx context.Context, b *blockedBus) error {
	_, err := runtime.PublishBatch(ctx, b.Bus, blockableType, make([]blockable, 6))
	return err
}

// blockedBus is a bus in which something blocks.
type blockedBus struct {
	*Fixture
	sub     *runtime.Subscription
	receipt *runtime.Receipt // of a delayed event
	file    *inspect.File
	second  *runtime.Bus // on the same file, not started
}

func openBlocked(t *testing.T, p place) *blockedBus {
	t.Helper()
	blocks = &blocking{place: p.name, reached: make(chan struct{}), free: make(chan struct{})}
	at := func(name string) { blocks.in(name, -1) }
	o := observe.Observer{
		Started: func(observe.AttemptInfo) { at("Started") },
		Handling: func(context.Context, observe.HandlingInfo) observe.Handling {
			at("Handling")
			return observe.Handling{Ended: func(e observe.EndedInfo) { at("Ended"); at("Ended of a failure") }}
		},
		Handled: func(observe.HandledInfo) { at("Handled") }, Failed: func(observe.FailedInfo) { at("Failed") },
		Retrying: func(observe.RetryingInfo) { at("Retrying") }, Dead: func(observe.DeadInfo) { at("Dead"); at("ephemeral Dead") },
		Discarded: func(observe.DiscardedInfo) { at("Discarded") }, Snoozed: func(observe.SnoozedInfo) { at("Snoozed") },
		Slow: func(observe.SlowInfo) { at("Slow") }, SlowEvent: func(observe.SlowEventInfo) { at("SlowEvent") },
		Batch: func(observe.BatchInfo) { at("Batch") }, Alert: func(observe.AlertInfo) { at("Alert") },
		Paused: func(event.Pause) { at("Paused") }, Resumed: func(event.Pause) { at("Resumed") },
		BreakerChanged: func(observe.BreakerInfo) { at("BreakerChanged") }, HealthChanged: func(observe.HealthCheck) { at("HealthChanged") },
		Published: func(observe.PublishedInfo) {
			if blocks.armed.Load() {
				at("Published of a handler")
			}
			if blocks.bus != nil {
				at("Published")
			}
		},
		Publishing: func(context.Context, observe.PublishingInfo) observe.Publishing {
			if blocks.bus != nil {
				at("Publishing")
			}
			return observe.Publishing{}
		},
	}
	health := observe.DefaultHealth()
	health.DeadLetters, health.Every = 0, time.Second
	opts := []runtime.Option{
		runtime.WithHealth(health, func(observe.HealthCheck) { at("health callback") }),
		runtime.WithPublishMiddleware(func(context.Context, *runtime.Publication) error {
			if blocks.bus != nil {
				at("publish middleware")
			}
			return nil
		}),
		runtime.WithObserver(o), runtime.WithSlowEventAfter(time.Nanosecond), runtime.WithLimit(declare.Limit{Name: "one", AtOnce: 1}),
		runtime.WithMiddleware(func(next runtime.Next) runtime.Next {
			return func(ctx context.Context, e runtime.Event[any]) error {
				err := next(ctx, e)
				at("middleware")
				return err
			}
		}),
	}
	if p.name == "log handler" {
		opts = append(opts, runtime.WithLogger(slog.New(blockingLog{})))
	}
	b := &blockedBus{Fixture: SQLite.ReopenWith(t, SQLite.Target(t), blockableCatalogue, opts...)}
	t.Cleanup(func() { b.second.Shutdown(context.Background()) })
	var err error
	subscribe := append([]runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(9))}, p.opts...)
	switch {
	case p.tx != nil:
		b.sub, err = runtime.SubscribeTx(b.Bus, blockableType, "s", p.tx, subscribe...)
	case p.batch:
		b.sub, err = runtime.SubscribeBatch(b.Bus, blockableType, "s", func(context.Context, []runtime.Event[blockable]) error {
			at("batch handler")
			return nil
		}, append(subscribe, runtime.WithBatch(10, time.Millisecond))...)
	default:
		b.sub, err = runtime.Subscribe(b.Bus, blockableType, "s", p.handler, subscribe...)
	}
	Must(t, err)
	b.receipt, err = runtime.Publish(t.Context(), b.Bus, blockableType, blockable{Number: fine}, runtime.WithDelay(time.Hour))
	Must(t, err)
	b.file, err = SQLite.OpenFile(t.Context(), b.Path)
	Must(t, err)
	b.second, err = runtime.Open(t.Context(), b.Path, blockableCatalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	Must(t, err)
	b.MustStart()
	blocks.bus = b.Bus
	switch {
	case p.then != nil:
		err = p.then(t.Context(), b)
	case p.older:
		_, err = testhook.Append(t.Context(), b.Bus, "blockable", 1, []byte(`{"number":1}`))
	case p.name == "Alert":
		_, err = runtime.Publish(t.Context(), b.Bus, blockableType, blockable{}, runtime.WithPriority(runtime.PriorityCritical))
	default:
		_, err = runtime.Publish(t.Context(), b.Bus, blockableType, blockable{})
	}
	Must(t, err)
	return b
}

// calls are all calls of a package that take a context, as the table has them. Those that are nil run code of the
// program on the goroutine of the caller and wait for nothing else, or are for the function of a transaction; a comment
// says so.
var calls = map[string]func(ctx context.Context, b *blockedBus) error{
	"Open": func(ctx context.Context, b *blockedBus) error {
		bus, err := runtime.Open(ctx, b.Path, blockableCatalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
		if err == nil {
			err = bus.Shutdown(ctx)
		}
		return err
	},
	"Bus.Start":              func(ctx context.Context, b *blockedBus) error { return b.second.Start(ctx) }, // another one runs
	"Bus.Shutdown":           func(ctx context.Context, b *blockedBus) error { return b.Shutdown(ctx) },
	"Bus.WaitIdle":           func(ctx context.Context, b *blockedBus) error { return b.WaitIdle(ctx) },
	"Bus.Compact":            func(ctx context.Context, b *blockedBus) error { _, err := b.Compact(ctx); return err },
	"Bus.Cancel":             func(ctx context.Context, b *blockedBus) error { return b.Cancel(ctx, b.receipt.ID) },
	"Bus.Undo":               func(ctx context.Context, b *blockedBus) error { return b.Undo(ctx, "s", b.receipt.ID) },
	"Bus.Lag":                func(ctx context.Context, b *blockedBus) error { _, err := b.Lag(ctx); return err },
	"Bus.Pauses":             func(ctx context.Context, b *blockedBus) error { _, err := b.Pauses(ctx); return err },
	"Bus.PauseSubscription":  func(ctx context.Context, b *blockedBus) error { return b.PauseSubscription(ctx, "s", "") },
	"Bus.PauseKey":           func(ctx context.Context, b *blockedBus) error { return b.PauseKey(ctx, "s", "k", "it rains") },
	"Bus.ResumeKey":          func(ctx context.Context, b *blockedBus) error { return b.ResumeKey(ctx, "s", "k") },
	"Bus.PauseTypes":         func(ctx context.Context, b *blockedBus) error { return b.PauseTypes(ctx, "blockable", "") },
	"Bus.ResumeSubscription": func(ctx context.Context, b *blockedBus) error { return b.ResumeSubscription(ctx, "s") },
	"Bus.ResumeTypes":        func(ctx context.Context, b *blockedBus) error { return b.ResumeTypes(ctx, "blockable") },
	"Bus.Remove":             func(ctx context.Context, b *blockedBus) error { return b.Remove(ctx, "s") },
	"Bus.Replay": func(ctx context.Context, b *blockedBus) error {
		_, err := b.Replay(ctx, "s", event.ReplayFilter{Types: []string{"*"}})
		return err
	},
	"Bus.WriteMetrics":         func(ctx context.Context, b *blockedBus) error { return b.WriteMetrics(ctx, io.Discard) },
	"Subscription.Unsubscribe": func(ctx context.Context, b *blockedBus) error { return b.sub.Unsubscribe(ctx) },
	"Receipt.Wait":             func(ctx context.Context, b *blockedBus) error { _, err := b.receipt.Wait(ctx); return err },
	"Receipt.WaitTree":         func(ctx context.Context, b *blockedBus) error { _, err := b.receipt.WaitTree(ctx); return err },
	"Receipt.Cancel":           func(ctx context.Context, b *blockedBus) error { return b.receipt.Cancel(ctx) },
	"Tree": func(ctx context.Context, b *blockedBus) error {
		_, err := runtime.Tree(ctx, b.Bus, b.receipt.ID)
		return err
	},
	"Publish": func(ctx context.Context, b *blockedBus) error {
		_, err := runtime.Publish(ctx, b.Bus, blockableType, blockable{Number: fine})
		return err
	},
	"PublishBatch": func(ctx context.Context, b *blockedBus) error {
		_, err := runtime.PublishBatch(ctx, b.Bus, blockableType, []blockable{{Number: fine}})
		return err
	},
	"PublishJSON": func(ctx context.Context, b *blockedBus) error {
		_, err := runtime.PublishJSON(ctx, b.Bus, []runtime.JSONEvent{{Type: "blockable", Version: 2, Payload: []byte(`{"number":7,"trap":""}`)}})
		return err
	},
	"bind.Publish": func(ctx context.Context, b *blockedBus) error {
		_, err := bind.Publish(ctx, b.Bus, blockableType, &blockable{Number: fine}, nil)
		return err
	},
	"Request": func(ctx context.Context, b *blockedBus) error {
		_, err := runtime.Request[string](ctx, b.Bus, blockableType, blockable{Number: fine})
		return err
	},
	"Collect": func(ctx context.Context, b *blockedBus) error {
		_, err := runtime.Collect[string](ctx, b.Bus, blockableType, blockable{Number: fine})
		return err
	},
	"bind.Request": func(ctx context.Context, b *blockedBus) error {
		var answer string
		_, err := bind.Request(ctx, b.Bus, blockableType, &blockable{Number: fine}, &answer, nil)
		return err
	},
	"bind.Collect": func(ctx context.Context, b *blockedBus) error {
		var answers []ask.Answer[string]
		return bind.Collect(ctx, b.Bus, blockableType, &blockable{Number: fine}, &answers, nil)
	},
	"Await": func(ctx context.Context, b *blockedBus) error {
		_, err := runtime.Await(ctx, b.Bus, blockableType, runtime.Query{}, func(runtime.Event[blockable]) bool { return false })
		return err
	},
	"Find": func(ctx context.Context, b *blockedBus) error {
		for _, err := range runtime.Find(ctx, b.Bus, blockableType, runtime.Query{}) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Transact": func(ctx context.Context, b *blockedBus) error {
		return runtime.Transact(ctx, b.Bus, func(runtime.Tx) error { return nil })
	},
	"Limiter.Do": limited(func(ctx context.Context, l *runtime.Limiter, f func(context.Context) error) error {
		return l.Do(ctx, f)
	}),
	"Limiter.DoFor": limited(func(ctx context.Context, l *runtime.Limiter, f func(context.Context) error) error {
		return l.DoFor(ctx, "key", f)
	}),

	"Atomically":         nil, // keeps a function, in a handler
	"ItemContext":        nil, // returns another context
	"Tx.ExecContext":     nil, // these run in a transaction, which has a limit
	"Tx.PrepareContext":  nil,
	"Tx.QueryContext":    nil,
	"Tx.QueryRowContext": nil,
}

// limited calls a limiter whose room somebody else has.
func limited(do func(ctx context.Context, l *runtime.Limiter, f func(context.Context) error) error) func(context.Context, *blockedBus) error {
	return func(ctx context.Context, b *blockedBus) error {
		l, err := b.Limiter("one")
		if err != nil {
			return err
		}
		return do(ctx, l, func(context.Context) error { return do(ctx, l, func(context.Context) error { return nil }) })
	}
}

// fileCalls are those of package inspect.
var fileCalls = map[string]func(ctx context.Context, b *blockedBus) error{
	"Open": func(ctx context.Context, b *blockedBus) error {
		f, err := inspect.Open(ctx, b.Path)
		if err == nil {
			err = f.Close()
		}
		return err
	},
	"File.As": func(ctx context.Context, b *blockedBus) error {
		f, err := b.file.As(ctx, "me")
		if err == nil {
			err = f.Close()
		}
		return err
	},
	"File.Audit": func(ctx context.Context, b *blockedBus) error {
		_, _, err := b.file.Audit(ctx, event.AuditFilter{}, event.Page{})
		return err
	},
	"File.Breakers":       func(ctx context.Context, b *blockedBus) error { _, err := b.file.Breakers(ctx); return err },
	"File.Running":        func(ctx context.Context, b *blockedBus) error { _, err := b.file.Running(ctx); return err },
	"File.Waitlists":      func(ctx context.Context, b *blockedBus) error { _, err := b.file.Waitlists(ctx); return err },
	"File.CloseBreakerOf": func(ctx context.Context, b *blockedBus) error { return b.file.CloseBreakerOf(ctx, "s", "k") },
	"File.PauseKey":       func(ctx context.Context, b *blockedBus) error { return b.file.PauseKey(ctx, "s", "k", "") },
	"File.ResumeKey":      func(ctx context.Context, b *blockedBus) error { return b.file.ResumeKey(ctx, "s", "k") },
	"File.CloseBreaker":   func(ctx context.Context, b *blockedBus) error { return b.file.CloseBreaker(ctx, "s") },
	"File.Check": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Check(ctx, func(event.Unsettled) error { return nil })
		return err
	},
	"File.DeadLetters": func(ctx context.Context, b *blockedBus) error {
		_, _, err := b.file.DeadLetters(ctx, event.Filter{}, event.Page{})
		return err
	},
	"File.CountDeadLetters": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.CountDeadLetters(ctx, event.Filter{})
		return err
	},
	"File.DeadLetter": func(ctx context.Context, b *blockedBus) error { _, err := b.file.DeadLetter(ctx, b.key()); return err },
	"File.FailureGroups": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.FailureGroups(ctx, event.Filter{})
		return err
	},
	"File.FailureGroupNames": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.FailureGroupNames(ctx, "a")
		return err
	},
	"File.Publish": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Publish(ctx, []inspect.NewEvent{{Type: "blockable", Payload: []byte(`{}`)}})
		return err
	},
	"File.CheckEvents": func(ctx context.Context, b *blockedBus) error {
		return b.file.CheckEvents(ctx, []inspect.NewEvent{{Type: "blockable", Payload: []byte(`{}`)}})
	},
	"File.Schema": func(ctx context.Context, b *blockedBus) error { _, err := b.file.Schema(ctx, "blockable"); return err },
	"File.Export": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Export(ctx, io.Discard, event.Filter{})
		return err
	},
	"File.Edit": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Edit(ctx, b.key(), []byte(`{}`))
		return err
	},
	"File.Erase": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Erase(ctx, inspect.Erasure{Values: []string{"somebody@example.com"}})
		return err
	},
	"File.Events": func(ctx context.Context, b *blockedBus) error {
		_, _, err := b.file.Events(ctx, event.Filter{}, event.Page{})
		return err
	},
	"File.SearchEvents": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.SearchEvents(ctx, event.Filter{Text: "x"}, event.Page{}, 100)
		return err
	},
	"File.Event": func(ctx context.Context, b *blockedBus) error { _, err := b.file.Event(ctx, b.receipt.ID); return err },
	"File.FindEvent": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.FindEvent(ctx, b.receipt.ID.String())
		return err
	},
	"File.Unsettled": func(ctx context.Context, b *blockedBus) error {
		return b.file.Unsettled(ctx, func(event.Unsettled) {})
	},
	"File.DiscardEvent": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.DiscardEvent(ctx, b.receipt.ID, "s", "why")
		return err
	},
	"File.CancelEvent": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.CancelEvent(ctx, b.receipt.ID, "s")
		return err
	},
	"File.Undiscard": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Undiscard(ctx, event.Undo{Event: b.receipt.ID})
		return err
	},
	"File.Newest": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Newest(ctx, event.Filter{}, 1)
		return err
	},
	"File.Follow": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Follow(ctx, event.Filter{}, event.Page{})
		return err
	},
	"File.Hide": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Hide(ctx, "blockable", 2, []byte(`{}`))
		return err
	},
	"File.Import": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Import(ctx, strings.NewReader(""))
		return err
	},
	"File.Status": func(ctx context.Context, b *blockedBus) error { _, err := b.file.Status(ctx); return err },
	"File.StatusSince": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.StatusSince(ctx, event.Status{})
		return err
	},
	"File.Hour":               func(ctx context.Context, b *blockedBus) error { _, err := b.file.Hour(ctx); return err },
	"File.Subscriptions":      func(ctx context.Context, b *blockedBus) error { _, err := b.file.Subscriptions(ctx); return err },
	"File.Names":              func(ctx context.Context, b *blockedBus) error { _, err := b.file.Names(ctx); return err },
	"File.Schedules":          func(ctx context.Context, b *blockedBus) error { _, err := b.file.Schedules(ctx); return err },
	"File.PauseSubscription":  func(ctx context.Context, b *blockedBus) error { return b.file.PauseSubscription(ctx, "s", "why") },
	"File.ResumeSubscription": func(ctx context.Context, b *blockedBus) error { return b.file.ResumeSubscription(ctx, "s") },
	"File.PauseTypes":         func(ctx context.Context, b *blockedBus) error { return b.file.PauseTypes(ctx, "blockable", "why") },
	"File.ResumeTypes":        func(ctx context.Context, b *blockedBus) error { return b.file.ResumeTypes(ctx, "blockable") },
	"File.RemoveSubscription": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.RemoveSubscription(ctx, "s")
		return err
	},
	"File.Retry": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Retry(ctx, inspect.Selection{})
		return err
	},
	"File.TryNow": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.TryNow(ctx, inspect.Selection{})
		return err
	},
	"File.DiscardDeadLetters": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.DiscardDeadLetters(ctx, inspect.Selection{}, "why")
		return err
	},
	"File.Purge": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Purge(ctx, inspect.Selection{})
		return err
	},
	"File.Replay": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.Replay(ctx, "s", inspect.Selection{})
		return err
	},
	"File.SensitiveTypes": func(ctx context.Context, b *blockedBus) error { _, err := b.file.SensitiveTypes(ctx); return err },
	"File.Tree":           func(ctx context.Context, b *blockedBus) error { _, err := b.file.Tree(ctx, b.receipt.ID); return err },
	"File.TreeUpTo": func(ctx context.Context, b *blockedBus) error {
		_, err := b.file.TreeUpTo(ctx, b.receipt.ID, 10)
		return err
	},
	"File.Root": func(ctx context.Context, b *blockedBus) error { _, err := b.file.Root(ctx, b.receipt.ID); return err },
}

func (b *blockedBus) key() event.Key { return event.Key{EventID: b.receipt.ID, Subscription: "s"} }

// withContext returns the calls of a package that take a context.
func withContext(p *types.Package) (names []string) {
	note := func(name string, f *types.Func) {
		params := f.Signature().Params()
		for i := range params.Len() {
			if f.Exported() && types.TypeString(params.At(i).Type(), nil) == "context.Context" {
				names = append(names, name)
			}
		}
	}
	for _, name := range p.Scope().Names() {
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Func:
			note(name, o)
		case *types.TypeName:
			named, ok := o.Type().(*types.Named)
			if !ok || !o.Exported() {
				continue
			}
			for m := range named.Methods() {
				note(name+"."+m.Name(), m)
			}
		}
	}
	return names
}

func TestTheTableOfCallsHasAllThatTakeAContext(t *testing.T) {
	const runtimePath = "github.com/busgen/busgen/runtime"
	packages, err := apirecord.Load(".", runtimePath, runtimePath+"/inspect", runtimePath+"/gen/bind")
	Must(t, err)
	bound := withContext(packages[runtimePath+"/gen/bind"])
	for path, table := range map[string]map[string]func(context.Context, *blockedBus) error{runtimePath: calls, runtimePath + "/inspect": fileCalls} {
		want := withContext(packages[path])
		if path == runtimePath {
			for _, name := range bound {
				want = append(want, "bind."+name)
			}
		}
		for _, name := range want {
			if _, known := table[name]; !known {
				t.Errorf("%s: %s takes a context; put it into the table", path, name)
			}
		}
		for name := range table {
			if !slices.Contains(want, name) {
				t.Errorf("%s: there is no %s that takes a context; take it out of the table", path, name)
			}
		}
	}
}

func TestEveryCallKeepsToItsContextWhateverBlocks(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	all := places()
	if testing.Short() { // each takes seconds of real time
		all = all[:5]
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(calls)) {
				if calls[name] != nil && !slices.Contains(p.own, name) {
					t.Run(name, func(t *testing.T) { keepsToItsContext(t, p, name, calls[name]) })
				}
			}
			if p.name != "lock" {
				return // no code of the program runs in a file that is inspected
			}
			for _, name := range slices.Sorted(maps.Keys(fileCalls)) {
				t.Run("inspect."+name, func(t *testing.T) { keepsToItsContext(t, p, "inspect."+name, fileCalls[name]) })
			}
		})
	}
}

// keepsToItsContext fails the test if a call does not return soon after its context has ended.
func keepsToItsContext(t *testing.T, p place, name string, call func(context.Context, *blockedBus) error) {
	synctest.Test(t, func(t *testing.T) {
		b := openBlocked(t, p)
		switch p.name {
		case "nothing":
		case "lock":
			synctest.Wait()
			defer lockOut(t, b.Path)()
			if _, err := runtime.Publish(canceled(t), b.Bus, blockableType, blockable{}); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		default:
			select {
			case <-blocks.reached:
			case <-time.After(time.Minute):
				t.Fatalf("%s: nothing is called there", p.name)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- call(ctx, b) }()
		var err error
		select {
		case err = <-ended:
		case <-time.After(time.Minute):
			err = fmt.Errorf("it had not returned by then")
		}
		if took := time.Since(began) - time.Second; took > slack {
			t.Errorf("%s blocks: %s returned %v after its context had ended: %v", p.name, name, took, err)
		}
		close(blocks.free)
	})
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestSubscribeIsBoundedAndHoldsUpNoOtherCallWhileAnotherProcessHoldsTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.MustStart()
		unlock := lockOut(t, f.Path)
		subscribe := func() error {
			_, err := runtime.Subscribe(f.Bus, PlacedType, "new", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
			return err
		}
		began := time.Now()
		var busy *event.StorageError
		if err := subscribe(); !errors.As(err, &busy) || busy.Fault != event.Busy || time.Since(began) > 10*time.Second {
			t.Errorf("subscribing returned %v after %v", err, time.Since(began))
		}
		subscribing := make(chan error)
		var took time.Duration
		go func() {
			err := subscribe()
			took = time.Since(began)
			subscribing <- err
		}()
		synctest.Wait()
		f.Stats()
		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		Must(t, f.Shutdown(ctx))
		if err := <-subscribing; !errors.Is(err, runtime.ErrShutdown) || took > 0 {
			t.Errorf("subscribing returned %v, %v after the shutdown had begun", err, took)
		}
		unlock()
	})
}

func TestASecondShutdownKeepsToItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		free := make(chan struct{})
		f.Handle("blocks", func(context.Context, runtime.Event[OrderPlaced]) error { <-free; return nil })
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		first := make(chan error)
		go func() { first <- f.Shutdown(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("the second shutdown returned %v after %v", err, time.Since(began))
		}
		close(free)
		Must(t, <-first)
	})
}

func TestWhatHandlersHaveDoneIsWrittenWhenTheLockIsFreeBeforeTheShutdownHasToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		var handled Journal[int]
		count := func(_ context.Context, e runtime.Event[OrderPlaced]) error { handled.Add(e.Payload.Number); return nil }
		f.Handle("counts", count)
		f.MustStart()
		f.Publish(1)
		unlock := lockOut(t, f.Path)
		synctest.Wait()
		time.AfterFunc(20*time.Second, unlock)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		Must(t, f.Shutdown(ctx))
		f = SQLite.Reopen(t, f.Path)
		f.Handle("counts", count)
		f.MustStart()
		f.Idle()
		if got := handled.All(); len(got) != 1 {
			t.Errorf("%v were handled", got)
		}
	})
}

func TestWhoSubscribesAgainFindsWhatWasUnsubscribedUnderTheLockSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		var handled Journal[int]
		count := func(_ context.Context, e runtime.Event[OrderPlaced]) error { handled.Add(e.Payload.Number); return nil }
		s := f.Handle("counts", count)
		f.MustStart()
		f.Publish(1)
		unlock := lockOut(t, f.Path)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Unsubscribe(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("unsubscribing returned %v", err)
		}
		unlock()
		f.Handle("counts", count)
		f.Publish(2)
		f.Idle()
		if got := handled.All(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("%v were handled", got)
		}
	})
}
