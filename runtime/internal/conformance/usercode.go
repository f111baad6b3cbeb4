package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// These tests let the program's own code, which the bus calls beside the handler,
// do what it must not do.

// trapped is a payload whose methods do what its trap says.
type trapped struct {
	Trap Trap `json:"trap"`
	N    int  `json:"n"`
}

func (p trapped) Validate() error {
	p.Trap.spring("validate")
	return nil
}

// Trap is a text such as "panic in decode".
type Trap string

func (t Trap) MarshalJSON() ([]byte, error) {
	t.spring("encode")
	return json.Marshal(string(t))
}

func (t *Trap) UnmarshalJSON(data []byte) error {
	text := ""
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*t = Trap(text)
	t.spring("decode")
	return nil
}

// Hanging ends the methods that hang.
var Hanging chan struct{}

func (t Trap) spring(place string) {
	what, where, _ := strings.Cut(string(t), " in ")
	if where != place {
		return
	}
	switch what {
	case "panic":
		panic(ErrBoom)
	case "unprintable panic":
		panic(unprintable{})
	case "nil dereference":
		var none *trapped
		none.N++
	case "goexit":
		goruntime.Goexit()
	case "hang":
		<-Hanging
	case "hang and fail":
		<-Hanging
		panic(ErrBoom)
	case "kill":
		process, _ := os.FindProcess(os.Getpid())
		process.Kill()
		select {}
	}
}

// unprintable panics when it is printed, with a value that also panics when it is
// printed.
type unprintable struct{}

func (unprintable) Error() string { panic(unprintable{}) }

// copied is a payload with the methods of generated code of before, of which Clone panics.
type copied struct {
	Items []string `json:"items"`
}

func (p copied) Validate() error { return nil }

func (p copied) Clone() copied { panic(ErrBoom) }

var (
	trappedType = runtime.Define(runtime.Spec[trapped]{
		Name: "trapped.normal", Settings: Within(30*time.Second, Exact()),
		PartitionBy: func(p trapped) string {
			p.Trap.spring("key")
			return "one"
		},
	})
	trappedHighType = runtime.Define(runtime.Spec[trapped]{
		Name: "trapped.high", Settings: Within(30*time.Second, Exact()), Priority: runtime.PriorityHigh,
	})
	copiedType       = runtime.Define(runtime.Spec[copied]{Name: "copied", Settings: Within(30*time.Second, Exact())})
	TrappedCatalogue = runtime.NewCatalogue(trappedType, trappedHighType, copiedType)
)

// SubscribeTrapped subscribes in one of the ways in which keys are, or are not,
// computed before an attempt.
func SubscribeTrapped(bus *runtime.Bus, way string, handler func(n, attempt int)) error {
	typed := func(_ context.Context, e runtime.Event[trapped]) error {
		e.Payload.Trap.spring("handle")
		handler(e.Payload.N, e.Attempt)
		return nil
	}
	opts := []runtime.SubscribeOption{runtime.FromBeginning(), runtime.WithRetry(retry.MaxAttempts(3))}
	var err error
	switch way {
	case "one worker":
		_, err = runtime.Subscribe(bus, trappedType, "reader", typed, opts...)
	case "four workers":
		_, err = runtime.Subscribe(bus, trappedType, "reader", typed, append(opts, runtime.WithConcurrency(4))...)
	case "strict order":
		_, err = runtime.Subscribe(bus, trappedType, "reader", typed, append(opts, runtime.WithStrictOrder())...)
	case "types of different priority":
		_, err = runtime.SubscribeNamespace(bus, "trapped.*", "reader", func(_ context.Context, e runtime.Event[runtime.Payload]) error {
			e.Payload.(trapped).Trap.spring("handle")
			handler(e.Payload.(trapped).N, e.Attempt)
			return nil
		}, opts...)
	default:
		err = errors.New("there is no such way")
	}
	return err
}

var WaysToSubscribe = []string{"one worker", "four workers", "strict order", "types of different priority"}

func PublishTrapped(t *testing.T, bus *runtime.Bus, n int, what Trap) {
	t.Helper()
	_, err := runtime.Publish(t.Context(), bus, trappedType, trapped{Trap: what, N: n})
	Must(t, err)
}

func (env *Env) TestAPayloadThatCannotBeReadIsADeadLetterAtOnceAndAffectsNoOthers(t *testing.T) {
	for _, way := range WaysToSubscribe {
		for _, test := range []struct {
			trap  Trap
			error string
			// stack says that the dead letter has the stack of a panic.
			stack bool
			// keyed says that the code is called for the key only, or that nothing else can
			// tell what it did; without keys the handler is called, or the attempt fails.
			keyed bool
		}{
			{"panic in decode", "cannot be decoded as conformance.trapped: panic: boom", true, false},
			{"nil dereference in decode", "panic: runtime error: invalid memory address", true, false},
			{"unprintable panic in decode", "panic: (a value of type conformance.unprintable whose methods panic)", true, false},
			{"panic in key", "the partition key of this trapped.normal event cannot be computed: panic: boom", true, true},
			{"unprintable panic in key", "cannot be computed: panic: (a value of type", true, true},
			{"goexit in key", "cannot be computed: its code has ended the goroutine", false, true},
			{"goexit in decode", "its code has ended the goroutine", false, false},
			{"hang in key", "cannot be computed: its code was not through within 30s", false, true},
			{"hang in decode", "cannot be computed: its code was not through within 30s", false, true},
		} {
			if test.keyed && way == "one worker" {
				continue
			}
			t.Run(way+"/"+string(test.trap), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					Hanging = make(chan struct{})
					defer close(Hanging)
					f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
					for n := range 9 {
						what := Trap("")
						if n%3 == 1 {
							what = test.trap
						}
						PublishTrapped(t, f.Bus, n, what)
					}
					var handled Journal[int]
					Must(t, SubscribeTrapped(f.Bus, way, func(n, attempt int) { handled.Add(n) }))
					f.MustStart()
					f.Idle()
					got := handled.All()
					slices.Sort(got)
					if want := []int{0, 2, 3, 5, 6, 8}; !slices.Equal(got, want) {
						t.Errorf("the events %v were handled, want %v", got, want)
					}
					letters := env.Dead(t, f.Path)
					if len(letters) != 3 {
						t.Fatalf("%d events are dead, want 3", len(letters))
					}
					for _, l := range letters {
						if l.Reason != "decode" || len(l.Attempts) != 1 || !strings.Contains(l.Attempts[0].Error, test.error) {
							t.Errorf("it is dead with %s after %+v", l.Reason, l.Attempts)
						}
						if at := "(*Trap).UnmarshalJSON"; test.stack && !test.keyed && !strings.Contains(l.Attempts[0].Stack, at) {
							t.Errorf("its stack does not say where: %s", l.Attempts[0].Stack)
						}
					}
				})
			})
		}
	}
}

// The bus copies payloads itself: their Clone is for the program.
func (env *Env) TestEachHandlerGetsACopyThatNoMethodOfThePayloadHasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
		var handled Journal[string]
		for _, name := range []string{"one", "two"} {
			_, err := runtime.Subscribe(f.Bus, copiedType, name, func(_ context.Context, e runtime.Event[copied]) error {
				handled.Add(e.Payload.Items[0])
				e.Payload.Items[0] = "changed by " + name
				return nil
			})
			Must(t, err)
		}
		f.MustStart()
		_, err := runtime.Publish(t.Context(), f.Bus, copiedType, copied{Items: []string{"a"}})
		Must(t, err)
		f.Idle()
		if got := handled.All(); !slices.Equal(got, []string{"a", "a"}) {
			t.Errorf("the handlers got %q", got)
		}
	})
}

func (env *Env) TestASubscriptionByPatternHandlesUndecodablePayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
		var handled Journal[string]
		_, err := runtime.SubscribePattern(f.Bus, "*", "raw", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			handled.Add(string(e.Payload))
			return nil
		}, runtime.WithConcurrency(2))
		Must(t, err)
		f.MustStart()
		PublishTrapped(t, f.Bus, 1, "panic in decode")
		f.Idle()
		if got := handled.All(); len(got) != 1 || got[0] != `{"trap":"panic in decode","n":1}` {
			t.Errorf("it was handed %v", got)
		}
	})
}

func (env *Env) TestAPayloadThatPanicsIsNotPublished(t *testing.T) {
	f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
	for _, what := range []Trap{"panic in validate", "panic in encode", "unprintable panic in encode"} {
		_, err := runtime.Publish(t.Context(), f.Bus, trappedType, trapped{Trap: what})
		var invalid *runtime.InvalidPayloadError
		var panicked *runtime.PanicError
		if !errors.As(err, &invalid) || !errors.As(err, &panicked) || !strings.Contains(panicked.Stack, "spring") {
			t.Errorf("%s: got %v, want an InvalidPayloadError for a panic", what, err)
		}
	}
	if got := f.peek().stored(); got != 0 {
		t.Errorf("%d events are stored", got)
	}
	err := TrappedCatalogue.Check("trapped.normal", 1, []byte(`{"trap":"panic in validate","n":1}`))
	var panicked *runtime.PanicError
	if !errors.As(err, &panicked) {
		t.Errorf("Check returns %v, want a PanicError", err)
	}
	if err := TrappedCatalogue.Check("trapped.normal", 1, []byte(`{"trap":"panic in decode","n":1}`)); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("Check returns %v, want the panic", err)
	}
}

// brokenIn is an error of which one method panics.
type brokenIn string

func (e brokenIn) panicIn(method string) {
	if string(e) == method {
		panic(ErrBoom)
	}
}

func (e brokenIn) Error() string {
	e.panicIn("Error")
	return "broken"
}

func (e brokenIn) Unwrap() error {
	e.panicIn("Unwrap")
	return nil
}

func (e brokenIn) Is(error) bool {
	e.panicIn("Is")
	return false
}

func (e brokenIn) As(any) bool {
	e.panicIn("As")
	return false
}

func (env *Env) TestAnErrorWhoseMethodsPanicIsAFailedAttempt(t *testing.T) {
	var none *fs.PathError
	asked := runtime.WithPermanentErrors(runtime.ErrorIs(fs.ErrNotExist))
	for name, test := range map[string]struct {
		err  error
		want []string // in the error that is recorded
		typ  string
		dead string
	}{
		"a nil pointer":                 {none, []string{"nil pointer of type *fs.PathError", "return nil itself"}, "*fs.PathError", "max_attempts"},
		"a nil pointer, wrapped":        {fmt.Errorf("reading: %w", none), []string{"reading: "}, "*fs.PathError", "max_attempts"},
		"a nil pointer, joined":         {errors.Join(ErrBoom, none), []string{"panics in Error"}, "*errors.joinError", "max_attempts"},
		"a nil pointer, permanent":      {runtime.Permanent(none), []string{"nil pointer of type *fs.PathError"}, "*fs.PathError", "permanent"},
		"a panic in Error":              {brokenIn("Error"), []string{"panics in Error"}, "conformance.brokenIn", "max_attempts"},
		"a panic in Unwrap":             {brokenIn("Unwrap"), []string{"broken", "panics in Unwrap"}, "conformance.brokenIn", "max_attempts"},
		"a panic in Is":                 {brokenIn("Is"), []string{"broken"}, "conformance.brokenIn", "max_attempts"},
		"a panic in As":                 {brokenIn("As"), []string{"broken", "panics in Unwrap, Is or As"}, "conformance.brokenIn", "max_attempts"},
		"a panic in As, permanent":      {runtime.Permanent(brokenIn("As")), []string{"broken"}, "conformance.brokenIn", "permanent"},
		"a type that is not comparable": {uncomparable{func() {}}, []string{"uncomparable"}, "conformance.uncomparable", "max_attempts"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				f.Handle("failing", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					if e.Payload.Number == 2 {
						return nil
					}
					return test.err
				}, runtime.WithRetry(retry.MaxAttempts(2)), asked)
				f.MustStart()
				receipts := f.Publish(1, 2)
				outcome, err := receipts[0].Wait(t.Context())
				Must(t, err)
				f.Idle()
				l := env.Letter(t, f.Path)
				last := l.Attempts[len(l.Attempts)-1]
				if l.Reason != test.dead || last.Kind != "error" || last.ErrorType != test.typ {
					t.Errorf("it is dead with %s, kind %s, type %s", l.Reason, last.Kind, last.ErrorType)
				}
				for _, want := range test.want {
					if !strings.Contains(last.Error, want) {
						t.Errorf("the error is %q, want %q in it", last.Error, want)
					}
				}
				if s := f.Stats().Subscriptions[0]; s.Handled != 1 {
					t.Errorf("%d events were handled, want the other one", s.Handled)
				}
				_ = outcome
			})
		})
	}
}

// exitingIn is an error of which one method ends the goroutine.
type exitingIn string

func (e exitingIn) exitIn(method string) {
	if string(e) == method {
		goruntime.Goexit()
	}
}

func (e exitingIn) Error() string {
	e.exitIn("Error")
	return "exiting"
}

func (e exitingIn) Unwrap() error {
	e.exitIn("Unwrap")
	return nil
}

func (e exitingIn) Is(error) bool {
	e.exitIn("Is")
	return false
}

func (e exitingIn) As(any) bool {
	e.exitIn("As")
	return false
}

func (env *Env) TestAnErrorWhoseMethodsEndTheirGoroutineIsAFailedAttempt(t *testing.T) {
	returning := func(err error) func(f *Fixture, opts ...runtime.SubscribeOption) {
		return func(f *Fixture, opts ...runtime.SubscribeOption) {
			f.Handle("failing", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Payload.Number == 2 {
					return nil
				}
				return err
			}, opts...)
		}
	}
	batch := func(err error) func(f *Fixture, opts ...runtime.SubscribeOption) {
		return func(f *Fixture, opts ...runtime.SubscribeOption) {
			f.Batches("failing", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
				if len(events) == 1 && events[0].Payload.Number == 2 {
					return nil
				}
				return err
			}, append(opts, runtime.WithBatch(1, time.Second))...)
		}
	}
	for name, subscribe := range map[string]func(f *Fixture, opts ...runtime.SubscribeOption){
		"Error":                 returning(exitingIn("Error")),
		"Unwrap":                returning(exitingIn("Unwrap")),
		"Is":                    returning(exitingIn("Is")),
		"As":                    returning(exitingIn("As")),
		"Error, wrapped":        returning(fmt.Errorf("reading: %w", exitingIn("Unwrap"))),
		"the program's matcher": returning(&askedError{"match"}),
		"Unwrap in a batch":     batch(exitingIn("Unwrap")),
		"Error of a wrong item": batch(&runtime.BatchError{Items: map[int]error{7: exitingIn("Error")}}),
		"Error of an item":      batch(&runtime.BatchError{Items: map[int]error{0: exitingIn("Error")}}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				match := func(err error) bool {
					if errors.As(err, new(*askedError)) {
						goruntime.Goexit()
					}
					return errors.Is(err, fs.ErrNotExist)
				}
				subscribe(f, runtime.WithRetry(retry.MaxAttempts(2)), runtime.WithBreaker(breaker.Off()), runtime.WithPermanentErrors(match))
				f.MustStart()
				f.Publish(1, 2)
				f.Idle()
				l := env.Letter(t, f.Path)
				if last := l.LastAttempt(); l.Reason != "max_attempts" || len(l.Attempts) != 2 || last.Kind != "error" ||
					name != "Error of a wrong item" && !strings.Contains(last.Error, "has ended its goroutine") {
					t.Errorf("the dead letter is %+v", l)
				}
				if s := f.Stats().Subscriptions[0]; s.Handled != 1 {
					t.Errorf("the statistics are %+v, want the other event handled", s)
				}
			})
		})
	}
}

// An upcast ends its goroutine: for the handler, and for that of the dead-letter notice.
func (env *Env) TestCodeThatEndsItsGoroutineBeforeTheHandlerIsNotTheHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
		PublishTrapped(t, f.Bus, 1, "")
		f.Stop()
		newer := runtime.Define(runtime.Spec[trapped]{Name: "trapped.normal", Version: 2, Settings: Within(30*time.Second, Exact()),
			Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(old trapped) (trapped, error) { goruntime.Goexit(); return old, nil })}})
		f = env.ReopenWith(t, f.Path, runtime.NewCatalogue(newer, trappedHighType, copiedType))
		_, err := runtime.Subscribe(f.Bus, newer, "reader", func(context.Context, runtime.Event[trapped]) error {
			t.Error("the handler was called")
			return nil
		}, runtime.FromBeginning())
		Must(t, err)
		var letters Journal[runtime.DeadLetter[trapped]]
		_, err = runtime.SubscribeDead(f.Bus, newer, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[trapped]]) error {
			letters.Add(e.Payload)
			return nil
		})
		Must(t, err)
		f.MustStart()
		f.Idle()
		const text = "the payload of this trapped.normal event cannot be decoded: its code has ended the goroutine"
		l := env.Letter(t, f.Path)
		if last := l.LastAttempt(); l.Reason != "decode" || len(l.Attempts) != 1 || last.Kind != "decode" ||
			!strings.Contains(last.Error, text) || !strings.Contains(last.Stack, "TestCodeThatEndsItsGoroutine") {
			t.Errorf("the dead letter is %+v", l)
		}
		got := letters.All()
		if len(got) != 1 || got[0].Undecodable == nil || !strings.Contains(got[0].Undecodable.Error(), text) {
			t.Errorf("the notices are %+v", got)
		}
	})
}

// The code that decodes does not come back. That is no failure of the handler, which was not called.
func (env *Env) TestATimeoutSaysThatThePayloadWasStillBeingDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		Hanging = make(chan struct{})
		defer close(Hanging)
		f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
		Must(t, SubscribeTrapped(f.Bus, "one worker", func(int, int) { t.Error("the handler was called") }))
		f.MustStart()
		PublishTrapped(t, f.Bus, 1, "hang in decode")
		f.Idle()
		l := env.Letter(t, f.Path)
		if last := l.LastAttempt(); l.Reason != "max_attempts" || last.Kind != "timeout" || last.ErrorType != "*errs.TimeoutError" ||
			!strings.Contains(last.Error, "code of the program still decodes the payload, and the handler was not called: ") {
			t.Errorf("the dead letter is %+v", l)
		}
	})
}

type uncomparable struct{ f func() }

func (uncomparable) Error() string { return "uncomparable" }

func (env *Env) TestAPanicWithAnUnprintableValueIsAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("failing", func(context.Context, runtime.Event[OrderPlaced]) error { panic(unprintable{}) }, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if l := env.Letter(t, f.Path); l.Attempts[0].Kind != "panic" || !strings.Contains(l.Attempts[0].Error, "conformance.unprintable whose methods panic") {
			t.Errorf("the attempt is %+v", l.Attempts[0])
		}
	})
}

// brokenHandler is a log handler of which one method panics.
type brokenHandler struct{ method string }

func (h brokenHandler) panicIn(method string) {
	if h.method == method {
		panic(ErrBoom)
	}
}

func (h brokenHandler) Enabled(context.Context, slog.Level) bool {
	h.panicIn("Enabled")
	return true
}

func (h brokenHandler) Handle(context.Context, slog.Record) error {
	h.panicIn("Handle")
	return nil
}

func (h brokenHandler) WithAttrs([]slog.Attr) slog.Handler {
	h.panicIn("WithAttrs")
	return h
}

func (h brokenHandler) WithGroup(string) slog.Handler {
	h.panicIn("WithGroup")
	return h
}

func (env *Env) TestALogHandlerThatPanicsLosesItsLineAndNothingElse(t *testing.T) {
	for _, method := range []string{"Enabled", "Handle", "WithAttrs", "WithGroup"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t, runtime.WithLogger(slog.New(brokenHandler{method})))
				f.Handle("failing", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					if e.Payload.Number == 1 {
						return ErrBoom
					}
					return nil
				}, runtime.WithRetry(retry.MaxAttempts(2)))
				f.MustStart()
				f.Publish(1, 2)
				f.Idle()
				if s := f.Stats().Subscriptions[0]; s.Dead != 1 || s.Handled != 1 {
					t.Errorf("%d events are dead and %d handled, want one each", s.Dead, s.Handled)
				}
			})
		})
	}
}
