package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/wire"
)

// These tests let the program's own code, which the bus calls beside the handler,
// do what it must not do.

// trapped is a payload whose methods do what its trap says.
type trapped struct {
	Trap trap `json:"trap"`
	N    int  `json:"n"`
}

func (p trapped) Validate() error {
	p.Trap.spring("validate")
	return nil
}

// trap is a text such as "panic in decode".
type trap string

func (t trap) MarshalJSON() ([]byte, error) {
	t.spring("encode")
	return json.Marshal(string(t))
}

func (t *trap) UnmarshalJSON(data []byte) error {
	text := ""
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*t = trap(text)
	t.spring("decode")
	return nil
}

// hanging ends what hangs.
var hanging chan struct{}

func (t trap) spring(place string) {
	what, where, _ := strings.Cut(string(t), " in ")
	if where != place {
		return
	}
	switch what {
	case "panic":
		panic(errBoom)
	case "unprintable panic":
		panic(unprintable{})
	case "nil dereference":
		var none *trapped
		none.N++
	case "goexit":
		goruntime.Goexit()
	case "hang":
		<-hanging
	case "kill":
		process, _ := os.FindProcess(os.Getpid())
		process.Kill()
		select {}
	}
}

// unprintable panics when it is printed, with what panics when it is printed.
type unprintable struct{}

func (unprintable) Error() string { panic(unprintable{}) }

// copied is a payload with the methods of generated code, of which Clone panics.
type copied struct {
	Items []string `json:"items"`
}

func (p copied) Validate() error { return nil }
func (p copied) Clone() copied   { panic(errBoom) }
func (p copied) WriteJSON(w *wire.Writer) {
	if w.BeginObject() {
		w.Key("items")
		wire.WriteList(w, p.Items, w.String)
		w.EndObject()
	}
}
func (p *copied) ReadJSON(r *wire.Reader) { r.Check(errBoom) } // left to encoding/json

var (
	trappedType = runtime.Define(runtime.Spec[trapped]{
		Name: "trapped.normal", Settings: within(30*time.Second, exact()),
		PartitionBy: func(p trapped) string {
			p.Trap.spring("key")
			return "one"
		},
	})
	trappedHighType = runtime.Define(runtime.Spec[trapped]{
		Name: "trapped.high", Settings: within(30*time.Second, exact()), Priority: runtime.PriorityHigh,
	})
	copiedType       = runtime.Define(runtime.Spec[copied]{Name: "copied", Settings: within(30*time.Second, exact())})
	trappedCatalogue = runtime.NewCatalogue(trappedType, trappedHighType, copiedType)
)

// subscribeTrapped subscribes in one of the ways in which keys are, or are not,
// computed before an attempt.
func subscribeTrapped(bus *runtime.Bus, way string, handler func(n, attempt int)) error {
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

var waysToSubscribe = []string{"one worker", "four workers", "strict order", "types of different priority"}

func publishTrapped(t *testing.T, bus *runtime.Bus, n int, what trap) {
	t.Helper()
	_, err := runtime.Publish(t.Context(), bus, trappedType, trapped{Trap: what, N: n})
	must(t, err)
}

func TestAPayloadThatCannotBeReadIsDeadAtOnceAndHarmsNobody(t *testing.T) {
	for _, way := range waysToSubscribe {
		for _, test := range []struct {
			trap  trap
			error string
			// stack says that the dead letter has the stack of a panic.
			stack bool
			// keyed says that the code is called for the key only, or that nothing else can
			// tell what it did; without keys the handler is called, or the attempt fails.
			keyed bool
		}{
			{"panic in decode", "cannot be decoded as runtime_test.trapped: panic: boom", true, false},
			{"nil dereference in decode", "panic: runtime error: invalid memory address", true, false},
			{"unprintable panic in decode", "panic: (a value of type runtime_test.unprintable whose methods panic)", true, false},
			{"panic in key", "the partition key of this trapped.normal event cannot be computed: panic: boom", true, true},
			{"unprintable panic in key", "cannot be computed: panic: (a value of type", true, true},
			{"goexit in key", "cannot be computed: its code has ended the goroutine", false, true},
			{"goexit in decode", "cannot be computed: its code has ended the goroutine", false, true},
			{"hang in key", "cannot be computed: its code was not through within 30s", false, true},
			{"hang in decode", "cannot be computed: its code was not through within 30s", false, true},
		} {
			if test.keyed && way == "one worker" {
				continue
			}
			t.Run(way+"/"+string(test.trap), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					hanging = make(chan struct{})
					defer close(hanging)
					f := reopenWith(t, filepath.Join(t.TempDir(), "events.db"), trappedCatalogue)
					for n := range 9 {
						what := trap("")
						if n%3 == 1 {
							what = test.trap
						}
						publishTrapped(t, f.Bus, n, what)
					}
					var handled journal[int]
					must(t, subscribeTrapped(f.Bus, way, func(n, attempt int) { handled.add(n) }))
					f.start()
					f.idle()
					got := handled.all()
					slices.Sort(got)
					if want := []int{0, 2, 3, 5, 6, 8}; !slices.Equal(got, want) {
						t.Errorf("the events %v were handled, want %v", got, want)
					}
					letters := dead(t, f.path)
					if len(letters) != 3 {
						t.Fatalf("%d events are dead, want 3", len(letters))
					}
					for _, l := range letters {
						if l.Reason != "decode" || len(l.Attempts) != 1 || !strings.Contains(l.Attempts[0].Error, test.error) {
							t.Errorf("it is dead with %s after %+v", l.Reason, l.Attempts)
						}
						if at := "(*trap).UnmarshalJSON"; test.stack && !test.keyed && !strings.Contains(l.Attempts[0].Stack, at) {
							t.Errorf("its stack does not say where: %s", l.Attempts[0].Stack)
						}
					}
				})
			})
		}
	}
}

func TestAPayloadThatCannotBeCopiedIsDeadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := reopenWith(t, filepath.Join(t.TempDir(), "events.db"), trappedCatalogue)
		for _, name := range []string{"one", "two"} {
			_, err := runtime.Subscribe(f.Bus, copiedType, name, func(context.Context, runtime.Event[copied]) error { return nil })
			must(t, err)
		}
		f.start()
		_, err := runtime.Publish(t.Context(), f.Bus, copiedType, copied{Items: []string{"a"}})
		must(t, err)
		f.idle()
		letters := dead(t, f.path)
		if len(letters) != 2 {
			t.Fatalf("%d dead letters, want one for each subscription", len(letters))
		}
		for _, l := range letters {
			if l.Reason != "decode" || !strings.Contains(l.Attempts[0].Error, "cannot be copied as runtime_test.copied: panic: boom") {
				t.Errorf("%s is dead with %s: %s", l.Subscription, l.Reason, l.Attempts[0].Error)
			}
		}
	})
}

func TestASubscriptionByPatternHandlesWhatCannotBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := reopenWith(t, filepath.Join(t.TempDir(), "events.db"), trappedCatalogue)
		var handled journal[string]
		_, err := runtime.SubscribePattern(f.Bus, "*", "raw", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			handled.add(string(e.Payload))
			return nil
		}, runtime.WithConcurrency(2))
		must(t, err)
		f.start()
		publishTrapped(t, f.Bus, 1, "panic in decode")
		f.idle()
		if got := handled.all(); len(got) != 1 || got[0] != `{"trap":"panic in decode","n":1}` {
			t.Errorf("it was handed %v", got)
		}
	})
}

func TestAPayloadThatPanicsIsNotPublished(t *testing.T) {
	f := reopenWith(t, filepath.Join(t.TempDir(), "events.db"), trappedCatalogue)
	for _, what := range []trap{"panic in validate", "panic in encode", "unprintable panic in encode"} {
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
	err := trappedCatalogue.Check("trapped.normal", 1, []byte(`{"trap":"panic in validate","n":1}`))
	var panicked *runtime.PanicError
	if !errors.As(err, &panicked) {
		t.Errorf("Check returns %v, want a PanicError", err)
	}
	if err := trappedCatalogue.Check("trapped.normal", 1, []byte(`{"trap":"panic in decode","n":1}`)); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("Check returns %v, want the panic", err)
	}
}

func init() {
	for _, way := range waysToSubscribe {
		children["trapped "+way] = func(path string) { trappedChild(way, path) }
	}
}

// trappedChild handles what is there until an event kills it.
func trappedChild(way, path string) {
	bus, err := runtime.Open(context.Background(), path, trappedCatalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	check(err)
	check(subscribeTrapped(bus, way, func(n, attempt int) { say("running %d %d", n, attempt) }))
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
}

func TestAnEventThatKillsItsProcessWhenItIsReadIsFound(t *testing.T) {
	for _, way := range waysToSubscribe {
		for _, what := range []trap{"kill in decode", "kill in key", "kill in handle"} {
			if what == "kill in key" && way == "one worker" {
				continue // nobody asks for it
			}
			t.Run(way+"/"+string(what), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "events.db")
				f := reopenWith(t, path, trappedCatalogue)
				for n := range 6 {
					what := what
					if n != 3 {
						what = ""
					}
					publishTrapped(t, f.Bus, n, what)
				}
				f.stop()
				handled := map[string]bool{}
				lives := 0
				for finished := false; !finished && lives < 8; lives++ {
					for _, line := range child(t, "trapped "+way, path, 0) {
						if number, attempt, running := strings.Cut(strings.TrimPrefix(line, "running "), " "); running {
							if attempt != "1" && !handled[number] {
								t.Errorf("event %s, which was never handled before, was told it is attempt %s", number, attempt)
							}
							handled[number] = true
						}
						finished = finished || line == "finished"
					}
				}
				if got, want := slices.Sorted(maps.Keys(handled)), []string{"0", "1", "2", "4", "5"}; !slices.Equal(got, want) {
					t.Errorf("the events %v were handled, want %v", got, want)
				}
				l := letter(t, path)
				if l.Reason != "crash" || len(l.Attempts) != 3 || lives != 4 {
					t.Errorf("it is dead with %s after %d attempts and %d processes; want crash, 3 and 4", l.Reason, len(l.Attempts), lives)
				}
				if got := queryFile(t, path, "SELECT count(*) FROM attempts"); got != "3" {
					t.Errorf("%s attempts were recorded, want 3", got)
				}
			})
		}
	}
}

func TestAKeyThatHangsDoesNotHoldUpAShutdown(t *testing.T) {
	for _, way := range waysToSubscribe[1:] {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hanging = make(chan struct{})
				defer close(hanging)
				f := reopenWith(t, filepath.Join(t.TempDir(), "events.db"), trappedCatalogue)
				must(t, subscribeTrapped(f.Bus, way, func(int, int) {}))
				f.start()
				publishTrapped(t, f.Bus, 1, "hang in decode")
				publishTrapped(t, f.Bus, 2, "")
				synctest.Wait()
				began := time.Now()
				f.stop()
				if took := time.Since(began); took > 0 {
					t.Errorf("the shutdown took %v", took)
				}
				if got := queryFile(t, f.path, "SELECT (SELECT count(*) FROM attempts) || (SELECT count(*) FROM events WHERE status = 'pending')"); got != "02" {
					t.Errorf("attempts and pending events are %s, want none and both", got)
				}
				claimed, err := os.ReadFile(f.path + "-claims")
				must(t, err)
				if len(claimed) > 0 {
					t.Errorf("the shutdown leaves %d bytes of claims", len(claimed))
				}
			})
		})
	}
}

// brokenIn is an error of which one method panics.
type brokenIn string

func (e brokenIn) panicIn(method string) {
	if string(e) == method {
		panic(errBoom)
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

func TestAnErrorWhoseMethodsPanicIsAFailedAttempt(t *testing.T) {
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
		"a nil pointer, joined":         {errors.Join(errBoom, none), []string{"panics in Error"}, "*errors.joinError", "max_attempts"},
		"a nil pointer, permanent":      {runtime.Permanent(none), []string{"nil pointer of type *fs.PathError"}, "*fs.PathError", "permanent"},
		"a panic in Error":              {brokenIn("Error"), []string{"panics in Error"}, "runtime_test.brokenIn", "max_attempts"},
		"a panic in Unwrap":             {brokenIn("Unwrap"), []string{"broken", "panics in Unwrap"}, "runtime_test.brokenIn", "max_attempts"},
		"a panic in Is":                 {brokenIn("Is"), []string{"broken"}, "runtime_test.brokenIn", "max_attempts"},
		"a panic in As":                 {brokenIn("As"), []string{"broken", "panics in Unwrap, Is or As"}, "runtime_test.brokenIn", "max_attempts"},
		"a panic in As, permanent":      {runtime.Permanent(brokenIn("As")), []string{"broken"}, "runtime_test.brokenIn", "permanent"},
		"a type that is not comparable": {uncomparable{func() {}}, []string{"uncomparable"}, "runtime_test.uncomparable", "max_attempts"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t)
				f.handle("failing", func(_ context.Context, e runtime.Event[orderPlaced]) error {
					if e.Payload.Number == 2 {
						return nil
					}
					return test.err
				}, runtime.WithRetry(retry.MaxAttempts(2)), asked)
				f.start()
				receipts := f.publish(1, 2)
				outcome, err := receipts[0].Wait(t.Context())
				must(t, err)
				f.idle()
				l := letter(t, f.path)
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

type uncomparable struct{ f func() }

func (uncomparable) Error() string { return "uncomparable" }

func TestAPanicWithWhatCannotBePrintedIsAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("failing", func(context.Context, runtime.Event[orderPlaced]) error { panic(unprintable{}) }, runtime.WithRetry(retry.MaxAttempts(1)))
		f.start()
		f.publish(1)
		f.idle()
		if l := letter(t, f.path); l.Attempts[0].Kind != "panic" || !strings.Contains(l.Attempts[0].Error, "runtime_test.unprintable whose methods panic") {
			t.Errorf("the attempt is %+v", l.Attempts[0])
		}
	})
}

// brokenHandler is a log handler of which one method panics.
type brokenHandler struct{ method string }

func (h brokenHandler) panicIn(method string) {
	if h.method == method {
		panic(errBoom)
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

func TestALogHandlerThatPanicsLosesItsLineAndNothingElse(t *testing.T) {
	for _, method := range []string{"Enabled", "Handle", "WithAttrs", "WithGroup"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, runtime.WithLogger(slog.New(brokenHandler{method})))
				f.handle("failing", func(_ context.Context, e runtime.Event[orderPlaced]) error {
					if e.Payload.Number == 1 {
						return errBoom
					}
					return nil
				}, runtime.WithRetry(retry.MaxAttempts(2)))
				f.start()
				f.publish(1, 2)
				f.idle()
				if s := f.Stats().Subscriptions[0]; s.Dead != 1 || s.Handled != 1 {
					t.Errorf("%d events are dead and %d handled, want one each", s.Dead, s.Handled)
				}
			})
		})
	}
}
