package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/step"
)

// charged is a result as an earlier program has it.
type charged struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

// readAs returns how a program reads the stored result of another one, and what it would have got.
func readAs[T any](opts ...step.Option) func(ctx context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		return step.Do(ctx, "charge", func(context.Context) (T, error) { return *new(T), errors.New("the step is done again") }, opts...)
	}
}

func (env *Env) TestAResultOfAnotherShapeIsNotReadAsZeros(t *testing.T) {
	if !env.Steps {
		t.Skip("the engine stores no steps")
	}
	type renamed struct {
		ID     string `json:"id"`
		Amount int    `json:"cents"`
	}
	type more struct {
		charged
		Currency string `json:"currency"`
	}
	type moreOrNot struct {
		charged
		Currency string  `json:"currency,omitempty"`
		Note     *string `json:"note"`
	}
	type fewer struct {
		ID string `json:"id"`
	}
	type wider struct {
		Amount int64  `json:"amount"`
		ID     string `json:"id"`
	}
	type text struct {
		ID     string `json:"id"`
		Amount string `json:"amount"`
	}
	type otherCase struct {
		ID     string `json:"Id"`
		Amount int    `json:"amount"`
	}
	toRenamed := step.Reads(func(stored json.RawMessage) (renamed, error) {
		var old charged
		err := json.Unmarshal(stored, &old)
		return renamed(old), err
	})
	failing := step.Reads(func(json.RawMessage) (renamed, error) { return renamed{}, ErrBoom })
	panicking := step.Reads(func(json.RawMessage) (renamed, error) { panic("oh") })
	for name, one := range map[string]struct {
		read  func(ctx context.Context) (any, error)
		want  string // the result
		wrong string // else what the error says
	}{
		"the same":      {read: readAs[charged](), want: "{7 100}"},
		"other order":   {read: readAs[wider](), want: "{100 7}"},
		"raw":           {read: readAs[json.RawMessage](), want: fmt.Sprint([]byte(`{"id":"7","amount":100}`))},
		"any":           {read: readAs[any](), want: "map[amount:100 id:7]"},
		"a map":         {read: readAs[map[string]any](), want: "map[amount:100 id:7]"},
		"optional more": {read: readAs[moreOrNot](), want: "{{7 100}  <nil>}"},
		"a pointer": {read: func(ctx context.Context) (any, error) {
			got, err := readAs[*charged]()(ctx)
			if err != nil {
				return nil, err
			}
			return *got.(*charged), nil
		}, want: "{7 100}"},
		"renamed":         {read: readAs[renamed](), wrong: "the field cents of the result is missing"},
		"more":            {read: readAs[more](), wrong: "the field currency of the result is missing"},
		"fewer":           {read: readAs[fewer](), wrong: "the result has a field amount"},
		"another kind":    {read: readAs[text](), wrong: "amount is a number, and not a text"},
		"another case":    {read: readAs[otherCase](), wrong: "the field Id of the result is missing"},
		"a list":          {read: readAs[[]charged](), wrong: "the result is an object, and not a list"},
		"a small number":  {read: readAs[map[string]string](), wrong: "amount"},
		"read":            {read: readAs[renamed](toRenamed), want: "{7 100}"},
		"read in vain":    {read: readAs[renamed](failing), wrong: "boom"},
		"read by a panic": {read: readAs[renamed](panicking), wrong: "panic"},
		"read as another": {read: readAs[text](toRenamed), wrong: "does not return"},
		"a sleep":         {read: func(ctx context.Context) (any, error) { return nil, step.Sleep(ctx, "charge", time.Second) }, wrong: "of another kind"},
		"in a transaction": {read: func(ctx context.Context) (any, error) {
			return step.Tx(ctx, "charge", func(context.Context, runtime.Tx) (charged, error) { return charged{}, ErrBoom })
		}, want: "{7 100}"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					if e.Attempt == 1 {
						_, err := step.Do(ctx, "charge", func(context.Context) (charged, error) { return charged{"7", 100}, nil })
						return errors.Join(err, ErrBoom)
					}
					got, err := one.read(ctx)
					if err == nil && fmt.Sprint(got) != one.want {
						t.Errorf("the result is %v, want %s", got, one.want)
					}
					var wrong *step.ResultError
					if err != nil && (!errors.As(err, &wrong) || wrong.Step != "charge" || !strings.Contains(wrong.Then, "amount int") && wrong.Then != "a step of kind do") {
						t.Errorf("the error is %v", err)
					}
					return nil
				}, steadily(9), unbroken)
				f.MustStart()
				outcome, err := f.Publish(1)[0].Wait(t.Context())
				Must(t, err)
				d := outcome.Deliveries[0]
				if one.wrong == "" && d.Dead || one.wrong != "" && (!d.Dead || d.Reason != "decode" || !strings.Contains(d.LastError, one.wrong)) {
					t.Errorf("the outcome is %+v, want one that says %q", d, one.wrong)
				}
			})
		})
	}
}

// impossible does a step with a result that cannot be stored.
func impossible[T any](result T) func(ctx context.Context, called *int) error {
	return func(ctx context.Context, called *int) error {
		_, err := step.Do(ctx, "charge", func(context.Context) (T, error) {
			*called++
			return result, nil
		})
		return err
	}
}

type (
	hidden   struct{ amount int }
	node     struct{ Next []node }
	writes   struct{ A int }
	badly    struct{ How string }
	withChan struct {
		Name  string
		Inner struct{ C chan int }
	}
)

func (writes) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

func (b badly) MarshalJSON() ([]byte, error) {
	switch b.How {
	case "panic":
		panic("oh")
	case "goexit":
		goruntime.Goexit()
	case "invalid":
		return []byte("{"), nil
	}
	return nil, ErrBoom
}

func (b *badly) UnmarshalJSON([]byte) error { return nil }

func (env *Env) TestATypeThatCannotBeStoredIsRefusedBeforeItsEffect(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		for name, do := range map[string]func(ctx context.Context, called *int) error{
			"channel": impossible(make(chan int)), "function": impossible(func() {}), "error": impossible(errors.New("x")),
			"complex": impossible(1i), "unexported": impossible(hidden{1}), "nested": impossible(withChan{}),
			"keys": impossible(map[[2]int]int{}), "only written": impossible(writes{1}), "interface": impossible[fmt.Stringer](nil),
			"nil function": func(ctx context.Context, _ *int) error {
				_, err := step.Do[int](ctx, "charge", nil)
				return err
			},
			"other Reads": func(ctx context.Context, called *int) error {
				_, err := step.Do(ctx, "charge", func(context.Context) (int, error) { *called++; return 1, nil }, step.Reads(func(json.RawMessage) (string, error) { return "", nil }))
				return err
			},
		} {
			f := env.Open(t)
			called := 0
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				err := do(ctx, &called)
				if !errors.As(err, new(*step.ResultError)) {
					t.Errorf("%s: the error is %v", name, err)
				}
				return nil
			}, steadily(9))
			f.MustStart()
			outcome, err := f.Publish(1)[0].Wait(t.Context())
			Must(t, err)
			if d := outcome.Deliveries[0]; called != 0 || !d.Dead || d.Reason != "permanent" {
				t.Errorf("%s: after %d calls the outcome is %+v", name, called, d)
			}
		}

		f := env.Open(t) // and these can be
		called := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := step.Do(ctx, "tree", func(context.Context) (node, error) { called++; return node{[]node{{}}}, nil })
			if err == nil {
				_, err = step.Do(ctx, "time", func(context.Context) (map[int]time.Time, error) { called++; return map[int]time.Time{1: {}}, nil })
			}
			if err == nil {
				_, err = step.Do(ctx, "nothing", func(context.Context) (struct{}, error) { called++; return struct{}{}, nil })
			}
			if err == nil {
				_, err = step.Do(ctx, "event", func(context.Context) (OrderPlaced, error) { called++; return e.Payload, nil })
			}
			if err == nil && e.Attempt == 1 {
				err = ErrBoom
			}
			return err
		}, steadily(2), unbroken)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		env.wantDone(t, f.Path)
		if called != 4 {
			t.Errorf("%d steps were done, want 4", called)
		}
	})
}

// Its effect cannot be taken back. So no attempt repeats it, nor does one after a retry by hand.
func (env *Env) TestAnEffectWhoseResultIsLostIsNotRepeated(t *testing.T) {
	if !env.Steps {
		t.Skip("the engine stores no steps")
	}
	for name, do := range map[string]func(ctx context.Context, called *int) error{
		"too large":    impossible(strings.Repeat("x", 2000)),
		"error":        impossible(badly{}),
		"panic":        impossible(badly{"panic"}),
		"goexit":       impossible(badly{"goexit"}),
		"invalid":      impossible(badly{"invalid"}),
		"not a number": impossible(map[string]any{"x": func() {}}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				called := 0
				f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					do(ctx, &called)
					return nil
				}, steadily(9), runtime.WithStepLimit(1024), unbroken)
				f.MustStart()
				receipt := f.Publish(1)[0]
				outcome, err := receipt.Wait(t.Context())
				Must(t, err)
				if d := outcome.Deliveries[0]; !d.Dead || d.Reason != "permanent" || !strings.Contains(d.LastError, "result") {
					t.Errorf("the outcome is %+v", d)
				}
				file, err := env.OpenFile(t.Context(), f.Path)
				Must(t, err)
				defer file.Close()
				for range 2 {
					_, err = file.Retry(t.Context(), inspect.Selection{Filter: event.Filter{Keys: []event.Key{{EventID: receipt.ID, Subscription: "fulfil"}}}})
					Must(t, err)
					f.Idle()
				}
				if called != 1 {
					t.Errorf("the step was done %d times", called)
				}
			})
		})
	}
}

// In a transaction nothing is lost: it is taken back, and the step can be done again.
func (env *Env) TestAResultThatIsTooLargeTakesItsTransactionBack(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		size := 2000
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := step.Tx(ctx, "reserve", func(ctx context.Context, tx runtime.Tx) (string, error) {
				_, err := runtime.Publish(ctx, tx, UserType, UserCreated{Name: "Ada"})
				return strings.Repeat("x", size), err
			})
			return err
		}, steadily(9), runtime.WithStepLimit(1024), unbroken)
		f.MustStart()
		receipt := f.Publish(1)[0]
		outcome, err := receipt.Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; !d.Dead || d.Reason != "permanent" || !strings.Contains(d.LastError, "WithStepLimit") {
			t.Errorf("the outcome is %+v", d)
		}
		size = 10
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		_, err = file.Retry(t.Context(), inspect.Selection{Filter: event.Filter{Keys: []event.Key{{EventID: receipt.ID, Subscription: "fulfil"}}}})
		Must(t, err)
		f.Idle()
		env.wantDone(t, f.Path)
		n := 0
		for _, e := range f.peek().events() {
			if e.Type == UserType.Name() {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d events were published, want 1", n)
		}
	})
}

// All results together have a limit, too.
func (env *Env) TestTheResultsOfARunAreLimitedTogether(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			for n := range 100 {
				_, err := step.Do(ctx, fmt.Sprint(n), func(context.Context) (string, error) { calls++; return strings.Repeat("x", 1000), nil })
				if err != nil {
					return err
				}
			}
			return nil
		}, steadily(9), runtime.WithStepLimit(1024))
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; calls != 17 || !d.Dead || d.Reason != "permanent" || !strings.Contains(d.LastError, "together") {
			t.Errorf("after %d calls the outcome is %+v", calls, d)
		}
	})
}

// What Do returns the first time is what it returns later.
func (env *Env) TestAResultIsTheSameInEveryAttempt(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		type result struct {
			At     time.Time
			Secret string `json:"-"`
			list   []int
			Some   []int
		}
		f := env.Open(t)
		var results []string
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			got, err := step.Do(ctx, "charge", func(context.Context) (result, error) {
				return result{time.Now().In(time.FixedZone("x", 3600)), "secret", []int{1}, []int{}}, nil
			})
			results = append(results, fmt.Sprintf("%#v", got))
			if err == nil && e.Attempt < 3 {
				err = ErrBoom
			}
			return err
		}, steadily(3), unbroken)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if len(results) != 3 || results[1] != results[2] || strings.Contains(results[0], "secret") {
			t.Errorf("the results are\n%s", strings.Join(results, "\n"))
		}
	})
}
