package conformance

import (
	"context"
	"errors"
	"log/slog"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/internal/testhook"
	"github.com/busgen/busgen/runtime/retry"
)

// What happens to a request at the same moment as something else.

// pausing is a payload of order.asked that does something while it is published.
type pausing struct {
	Meanwhile func() `json:"-"`
}

func (p pausing) Validate() error {
	if p.Meanwhile != nil {
		p.Meanwhile()
	}
	return nil
}

var (
	pausingType      = runtime.Define(runtime.Spec[pausing]{Name: "order.asked", Settings: Within(30*time.Second, Exact())})
	pausingCatalogue = runtime.NewCatalogue(pausingType)
)

// answersPausing subscribes to order.asked.
func answersPausing(f *Fixture, name string, after time.Duration) *runtime.Subscription {
	f.T.Helper()
	s, err := runtime.SubscribeAnswer(f.Bus, pausingType, name, func(context.Context, runtime.Event[pausing]) (string, error) {
		time.Sleep(after)
		return name, nil
	})
	Must(f.T, err)
	return s
}

func (env *Env) TestARequestDoesNotWaitForWhoIsUnsubscribedWhileItIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), pausingCatalogue)
		gone := answersPausing(f, "gone", 0)
		f.MustStart()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		leaving := pausing{Meanwhile: func() { Must(t, gone.Unsubscribe(t.Context())) }}
		_, err := runtime.Request[string](ctx, f.Bus, pausingType, leaving)
		var nobody *ask.NoAnswererError
		if !errors.As(err, &nobody) || f.peek().stored() != 0 {
			t.Errorf("the error is %v, and %d events are stored", err, f.peek().stored())
		}
		gone = answersPausing(f, "gone", 0)
		answersPausing(f, "silent", 0)
		answers, err := runtime.Collect[string](ctx, f.Bus, pausingType, leaving)
		if len(answers) != 1 || answers[0].Value != "silent" || err != nil {
			t.Errorf("collected %v with error %v", answers, err)
		}
	})
}

func (env *Env) TestTheTimeForAnswersBeginsWhenTheEventIsStored(t *testing.T) {
	slow := pausing{Meanwhile: func() { time.Sleep(time.Minute) }} // as a disk is that is busy
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), pausingCatalogue)
		answersPausing(f, "fast", 100*time.Millisecond)
		answersPausing(f, "slow", time.Second)
		f.MustStart()
		began := time.Now()
		answers, err := runtime.Collect[string](t.Context(), f.Bus, pausingType, slow, runtime.AnswersWithin(200*time.Millisecond))
		if took := since(began); len(answers) != 1 || answers[0].Value != "fast" || err != nil || took != time.Minute+200*time.Millisecond {
			t.Errorf("collected %v with error %v after %v", answers, err, took)
		}
		until := runtime.AnswersUntil(time.Now().Add(time.Second))
		answers, err = runtime.Collect[string](t.Context(), f.Bus, pausingType, slow, until, runtime.AnswersWithin(time.Hour))
		if len(answers) != 0 || err != nil {
			t.Errorf("until a time that comes while the event is stored: collected %v with error %v", answers, err)
		}
		if got, want := f.states(), "fast done, fast done, slow done, slow done"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = runtime.Collect[string](ctx, f.Bus, pausingType, pausing{}, runtime.AnswersWithin(time.Second))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context that ends earlier the error is %v", err)
		}
	})
}

// An attempt is settled under its lock, and an exchange has a lock, too. Here the timeout
// of a handler that answers is being settled, which the log line holds up, while others
// need the exchange. They must get through, also while somebody in the exchange has to do
// with the attempt.
func (env *Env) TestAnAttemptThatIsBeingSettledHoldsUpNoOtherAnswers(t *testing.T) {
	for _, test := range []struct {
		name    string
		loses   bool     // another handler wins before; else the handler begins after its timeout
		reached []string // one of these functions waits for a lock when the others go on
	}{
		{"its handler begins", false, []string{".(*exchanges).begin(", ".(*Attempt).finish("}},
		{"its handler has lost", true, []string{".(*exchange).stopLosers("}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var f *Fixture
			held, first, third, through, release := make(chan bool), make(chan bool), make(chan bool), make(chan bool), make(chan bool)
			logger := slog.New(&lineHook{message: "event handler failed", call: func() {
				close(held)
				if test.loses {
					close(first)
				}
				waitForALock(t, test.reached)
				close(third)
				f.Publish(2)
				select {
				case <-through:
				case <-time.After(20 * time.Second):
					t.Error("a handler that answers waits for the attempt of another one")
				}
				close(release)
			}})
			intercept := testhook.WithIntercept(func(_ context.Context, subscription string, call func() error) error {
				if subscription == "held up" && !test.loses {
					<-held
				}
				return call()
			}).(runtime.Option)
			f = env.Open(t, runtime.WithLogger(logger), intercept)
			says := func(answer string, after chan bool) runtime.AnswerHandler[OrderPlaced, string] {
				return func(_ context.Context, e runtime.Event[OrderPlaced]) (string, error) {
					if e.Payload.Number == 2 && after == third {
						close(through)
					}
					<-after
					return answer, nil
				}
			}
			soon := runtime.WithRetry(retry.MaxAttempts(2), retry.BaseDelay(time.Millisecond))
			if test.loses {
				answer(f, "held up", says("late", release), runtime.WithTimeout(time.Millisecond), soon)
				answer(f, "first", says("first", first))
			} else {
				answer(f, "held up", says("late", held), runtime.WithTimeout(time.Millisecond), soon)
			}
			answer(f, "third", says("third", third))
			f.MustStart()
			got, err := f.request()
			if want := map[bool]string{true: "first", false: "third"}[test.loses]; got != want || err != nil {
				t.Errorf("the answer is %q, the error %v; want %s", got, err, want)
			}
			f.Idle()
		})
	}
}

// waitForALock returns when a goroutine is in one of these functions, or in what they
// call, and waits for a lock.
func waitForALock(t *testing.T, in []string) {
	stacks := make([]byte, 1<<20)
	for began := time.Now(); time.Since(began) < 20*time.Second; goruntime.Gosched() {
		for one := range strings.SplitSeq(string(stacks[:goruntime.Stack(stacks, true)]), "\n\n") {
			waits := strings.Contains(one, "[sync.Mutex.Lock")
			if waits && slices.ContainsFunc(in, func(function string) bool { return strings.Contains(one, function) }) {
				return
			}
		}
	}
	t.Error("nobody waits for a lock in " + strings.Join(in, " or "))
}

// lineHook is a [slog.Handler] that calls a function for the first line with a message.
type lineHook struct {
	slog.Handler
	message string
	once    sync.Once
	call    func()
}

func (h *lineHook) Enabled(context.Context, slog.Level) bool { return true }

func (h *lineHook) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h *lineHook) WithGroup(string) slog.Handler { return h }

func (h *lineHook) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.once.Do(h.call)
	}
	return nil
}
