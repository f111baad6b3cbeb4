package conformance

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
)

func (env *Env) TestCollectReturnsAllAnswersAsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "slow", says("c", 3*time.Second))
		answer(f, "fast", says("a", time.Second))
		answer(f, "broken", refuses(ErrBoom))
		answer(f, "silent", passes)
		answer(f, "middle", says("b", 2*time.Second))
		f.MustStart()
		got, err := f.collect(runtime.WithCorrelationID("c-1"))
		if want := "fast=a middle=b slow=c"; got != want {
			t.Errorf("collected %s, want %s", got, want)
		}
		var failed *ask.AnswerError
		if !errors.Is(err, ErrBoom) || !errors.As(err, &failed) || failed.Subscription != "broken" {
			t.Errorf("the error is %v", err)
		}
		for _, e := range f.peek().events() {
			if e.CorrelationID != "c-1" {
				t.Errorf("the event has the correlation id %q: an option of Publish was lost", e.CorrelationID)
			}
		}
	})
}

func (env *Env) TestCollectEndsWithEnoughAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "slow", says("c", 3*time.Second))
		answer(f, "fast", says("a", time.Second))
		answer(f, "middle", says("b", 2*time.Second))
		f.MustStart()
		began := time.Now()
		got, err := f.collect(runtime.FirstAnswers(2))
		if want := "fast=a middle=b"; got != want || err != nil || since(began) != 2*time.Second {
			t.Errorf("collected %s with error %v after %v, want %s", got, err, since(began), want)
		}
		if got, want := f.states(), "fast done, middle done, slow discarded answered by fast, middle"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
	})
}

func (env *Env) TestCollectEndsAtItsTimeAndTheOthersGoOn(t *testing.T) {
	for name, within := range map[string]func() runtime.CollectOption{
		"within": func() runtime.CollectOption { return runtime.AnswersWithin(2 * time.Second) },
		"until":  func() runtime.CollectOption { return runtime.AnswersUntil(time.Now().Add(2 * time.Second)) },
	} {
		synctest.Test(t, func(t *testing.T) {
			f := env.Open(t)
			answer(f, "slow", says("b", 3*time.Second))
			answer(f, "fast", says("a", time.Second))
			f.MustStart()
			began := time.Now()
			got, err := f.collect(within())
			if want := "fast=a"; got != want || err != nil || since(began) != 2*time.Second {
				t.Errorf("%s: collected %s with error %v after %v, want %s", name, got, err, since(began), want)
			}
			if got, want := f.states(), "fast done, slow done"; got != want {
				t.Errorf("%s: the deliveries are %s, want %s", name, got, want)
			}
		})
	}
}
