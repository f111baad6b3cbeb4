package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// patient is a bus with a handler that succeeds or fails by the number of the event. It
// records every change of its health.
type patient struct {
	*Fixture
	changes Journal[string]
}

// The numbers of events.
const (
	Fine = iota
	failsOnce
	FailsForGood
	timesOutOnce
)

func (env *Env) OpenPatient(t *testing.T, h observe.Health) *patient {
	p := &patient{}
	p.Fixture = env.Open(t, runtime.WithHealth(h, func(c observe.HealthCheck) {
		p.changes.Add(fmt.Sprintf("%s %v: %.4g of %d, mostly %s", c.Name, c.Exceeded, c.Value, c.Samples, c.Mostly))
	}))
	p.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		switch {
		case e.Payload.Number == FailsForGood:
			return runtime.Permanent(ErrBoom)
		case e.Payload.Number == failsOnce && e.Attempt == 1:
			return ErrBoom
		case e.Payload.Number == timesOutOnce && e.Attempt == 1:
			<-ctx.Done()
		}
		return nil
	}, runtime.WithRetry(retry.BaseDelay(0)), runtime.WithTimeout(time.Millisecond))
	return p
}

// Happens publishes so many events of a kind, and waits for their end.
func (p *patient) Happens(kind, times int) {
	p.T.Helper()
	_, err := runtime.PublishBatch(p.T.Context(), p.Bus, PlacedType, slices.Repeat([]OrderPlaced{{Number: kind}}, times))
	Must(p.T, err)
	p.Idle()
}

func (p *patient) RequireChanges(want ...string) {
	p.T.Helper()
	synctest.Wait()
	if got := p.changes.All(); !slices.Equal(got, want) {
		p.T.Errorf("the health has changed %q, want %q", got, want)
	}
}

// Look is how long it takes until the bus has looked.
const Look = 10 * time.Second

func (env *Env) TestAThresholdIsExceededOnlyAboveItsValue(t *testing.T) {
	duplicate := func(p *patient, times int) {
		for range times {
			_, err := runtime.Publish(p.T.Context(), p.Bus, UserType, UserCreated{}, runtime.WithDedupeKey("the same"))
			Must(p.T, err)
		}
	}
	for name, test := range map[string]struct {
		do   func(p *patient)
		want []string
	}{
		"a tenth of the attempts is retried": {func(p *patient) { p.Happens(Fine, 8); p.Happens(failsOnce, 10); p.Happens(Fine, 72) }, nil},
		"more than a tenth is retried": {
			func(p *patient) { p.Happens(failsOnce, 10); p.Happens(Fine, 79) },
			[]string{"retries true: 0.101 of 99, mostly order.placed"},
		},
		"twenty attempts are enough": {
			func(p *patient) { p.Happens(failsOnce, 3); p.Happens(Fine, 14) },
			[]string{"retries true: 0.15 of 20, mostly order.placed"},
		},
		"nineteen attempts are not": {func(p *patient) { p.Happens(failsOnce, 9); p.Happens(Fine, 1) }, nil},
		"a hundred are dead":        {func(p *patient) { p.Happens(FailsForGood, 100) }, nil},
		"more than a hundred are dead": {
			func(p *patient) { p.Happens(FailsForGood, 101) },
			[]string{"dead_letters true: 101 of 0, mostly reader"},
		},
		"a twentieth of the attempts times out": {func(p *patient) { p.Happens(timesOutOnce, 2); p.Happens(Fine, 36) }, nil},
		"more than a twentieth times out": {
			func(p *patient) { p.Happens(timesOutOnce, 2); p.Happens(Fine, 35) },
			[]string{"timeouts true: 0.05128 of 39, mostly order.placed"},
		},
		"a fifth of the published events are duplicates": {func(p *patient) { duplicate(p, 6); p.Happens(Fine, 19) }, nil},
		"more than a fifth are duplicates": {
			func(p *patient) { duplicate(p, 6); p.Happens(Fine, 18) },
			[]string{"duplicates true: 0.2083 of 24, mostly user.created"},
		},
		"all is well": {func(p *patient) { p.Happens(Fine, 1000) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := env.OpenPatient(t, observe.DefaultHealth())
				p.MustStart()
				test.do(p)
				time.Sleep(Look)
				p.RequireChanges(test.want...)
				status := p.Health()
				if status.Healthy != (test.want == nil) || len(status.Checks) != 11 {
					t.Errorf("the status is %+v", status)
				}
			})
		})
	}
}

func (env *Env) TestAThresholdIsReportedOnceWhenExceededAndOnceWhenNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.OpenPatient(t, observe.DefaultHealth())
		p.MustStart()
		began := time.Now()
		exceeded := "retries true: 0.3333 of 30, mostly order.placed"
		p.Happens(failsOnce, 10)
		p.Happens(Fine, 10)
		time.Sleep(Look)
		p.RequireChanges(exceeded)
		for range 20 { // it stays so
			p.Happens(failsOnce, 10)
			p.Happens(Fine, 10)
			time.Sleep(Look)
		}
		p.RequireChanges(exceeded)
		status := p.Health()
		if c := status.Checks[0]; status.Healthy || !c.Exceeded || !c.Since.Equal(began.Add(Look)) || c.Threshold != 0.1 {
			t.Errorf("the status is %+v", status)
		}
		for range 40 {
			p.Happens(Fine, 10)
			time.Sleep(Look)
		}
		synctest.Wait()
		got := p.changes.All()
		if len(got) != 2 || !strings.HasPrefix(got[1], "retries false: 0.0") {
			t.Errorf("the health has changed %q, want twice", got)
		}
		if status = p.Health(); !status.Healthy || !status.At.After(status.Checks[0].Since) {
			t.Errorf("the status is %+v", status)
		}
		p.Happens(failsOnce, 100)
		time.Sleep(Look)
		synctest.Wait()
		if got := p.changes.All(); len(got) != 3 {
			t.Errorf("the health has changed %q, want three times", got)
		}
		var lines []string
		for _, level := range []string{"WARN", "INFO"} {
			for _, line := range p.Log.Level(t, level) {
				if strings.Contains(line["msg"].(string), "health threshold") {
					lines = append(lines, fmt.Sprint(level, " ", line["msg"], " ", line["check"], " ", line["mostly"], " ", line["advice"] != nil))
				}
			}
		}
		want := []string{
			"WARN a health threshold is exceeded retries order.placed true", "WARN a health threshold is exceeded retries order.placed true",
			"INFO a health threshold is no longer exceeded retries <nil> false",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("the log has %q, want %q", lines, want)
		}
	})
}

func (env *Env) TestOutcomesOlderThanTheWindowDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := observe.DefaultHealth()
		h.Window = time.Minute
		p := env.OpenPatient(t, h)
		p.MustStart()
		p.Happens(failsOnce, 20)
		time.Sleep(time.Minute - time.Second)
		if c := p.Health().Checks[0]; c.Samples != 40 || !c.Exceeded {
			t.Errorf("within the window %d attempts count: %+v", c.Samples, c)
		}
		time.Sleep(2 * Look)
		if c := p.Health().Checks[0]; c.Samples != 0 || c.Exceeded {
			t.Errorf("after the window %d attempts count: %+v", c.Samples, c)
		}
		p.RequireChanges("retries true: 0.5 of 40, mostly order.placed", "retries false: 0 of 0, mostly ")
		p.Happens(Fine, 30) // the window goes on
		time.Sleep(Look)
		synctest.Wait()
		if c := p.Health().Checks[0]; c.Samples != 30 {
			t.Errorf("%d attempts count, want 30", c.Samples)
		}
	})
}

func (env *Env) TestDeadLettersAreReportedNoLongerWhenAnOperatorHasDealtWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.OpenPatient(t, observe.DefaultHealth())
		p.MustStart()
		p.Happens(FailsForGood, 150)
		time.Sleep(Look)
		time.Sleep(time.Hour)
		p.RequireChanges("dead_letters true: 150 of 0, mostly reader")
		inspector, err := env.OpenFile(t.Context(), p.Path)
		Must(t, err)
		defer inspector.Close()
		_, err = inspector.Purge(t.Context(), inspect.Selection{Filter: event.Filter{Until: time.Now()}, Limit: 50})
		Must(t, err)
		time.Sleep(Look)
		p.RequireChanges("dead_letters true: 150 of 0, mostly reader", "dead_letters false: 100 of 0, mostly reader")
	})
}

func (env *Env) TestDeadLettersOfEarlierProcessesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.OpenPatient(t, observe.DefaultHealth())
		p.MustStart()
		p.Happens(FailsForGood, 101)
		p.Stop()
		var changes Journal[string]
		again := env.Reopen(t, p.Path, runtime.WithHealth(observe.DefaultHealth(), func(c observe.HealthCheck) { changes.Add(c.Name) }))
		again.MustStart()
		time.Sleep(Look)
		synctest.Wait()
		if got := changes.All(); !slices.Equal(got, []string{"dead_letters"}) {
			t.Errorf("the health has changed %q, want once for the dead letters", got)
		}
	})
}

func (env *Env) TestHealthIsWatchedByTheBusThatDispatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.OpenPatient(t, observe.DefaultHealth())
		for range 100 {
			p.Publish(failsOnce)
		}
		time.Sleep(time.Hour)
		if status := p.Health(); !status.Healthy || !status.At.IsZero() || len(status.Checks) != 11 {
			t.Errorf("before the start the status is %+v", status)
		}
		p.MustStart()
		p.Idle()
		time.Sleep(Look)
		p.RequireChanges("retries true: 0.5 of 200, mostly order.placed")
		p.Stop()
		if p.Health().Healthy {
			t.Error("the shutdown has healed the bus")
		}
	})
}

func (env *Env) TestHealthCanBeLeftUnwatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.OpenPatient(t, observe.Health{Off: true})
		p.MustStart()
		p.Happens(failsOnce, 100)
		time.Sleep(time.Hour)
		p.RequireChanges()
		if status := p.Health(); !status.Healthy || len(status.Checks) != 0 {
			t.Errorf("the status is %+v", status)
		}
	})
}

func (env *Env) TestHealthThatCannotBeWatchedIsRefused(t *testing.T) {
	with := func(change func(*observe.Health)) observe.Health {
		h := observe.DefaultHealth()
		change(&h)
		return h
	}
	for name, test := range map[string]struct {
		health observe.Health
		want   []string // in the error; none for a valid one
	}{
		"the default":           {observe.DefaultHealth(), nil},
		"nothing is set":        {observe.Health{}, []string{"MinSamples is 0", "Every is 0s"}},
		"the zero value is off": {observe.Health{Off: true}, nil},
		"a share above 1":       {with(func(h *observe.Health) { h.RetryRate = 1.5 }), []string{"RetryRate is 1.5: it must be between 0 and 1"}},
		"shares that are none": {
			with(func(h *observe.Health) { h.TimeoutRate, h.DuplicateRate = -0.1, math.NaN() }),
			[]string{"TimeoutRate is -0.1", "DuplicateRate is NaN"},
		},
		"a negative number":                {with(func(h *observe.Health) { h.DeadLetters = -1 }), []string{"DeadLetters is -1"}},
		"a window that is shorter than it": {with(func(h *observe.Health) { h.Window = time.Second }), []string{"Window is 1s: it must be between Every, 10s, and 24h"}},
		"any dead letter is too many":      {with(func(h *observe.Health) { h.DeadLetters = 0 }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			bus, err := env.OpenBus(t.Context(), env.Target(t), Catalogue, runtime.WithHealth(test.health, nil))
			if test.want == nil {
				Must(t, err)
				Must(t, bus.Shutdown(context.Background()))
				return
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want one with %q", err, want)
				}
			}
		})
	}
}

func (env *Env) TestHealthAsJSONIsWhatAnEndpointWouldServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.OpenPatient(t, observe.DefaultHealth())
		p.MustStart()
		p.Happens(failsOnce, 20)
		time.Sleep(Look)
		synctest.Wait()
		encoded, err := json.MarshalIndent(p.Health(), "", " ")
		Must(t, err)
		want := `{
 "healthy": false,
 "at": "2000-01-01T00:00:10Z",
 "checks": [
  {
   "name": "retries",
   "exceeded": true,
   "value": 0.5,
   "threshold": 0.1,
   "samples": 40,
   "mostly": "order.placed",
   "since": "2000-01-01T00:00:10Z"
  },
  {
   "name": "dead_letters",
   "exceeded": false,
   "value": 0,
   "threshold": 100
  },
  {
   "name": "timeouts",
   "exceeded": false,
   "value": 0,
   "threshold": 0.05,
   "samples": 40
  },
  {
   "name": "duplicates",
   "exceeded": false,
   "value": 0,
   "threshold": 0.2,
   "samples": 20
  },
  {
   "name": "unhandled",
   "exceeded": false,
   "value": 0,
   "threshold": 0
  },
  {
   "name": "unknown_types",
   "exceeded": false,
   "value": 0,
   "threshold": 0
  },
  {
   "name": "saturated",
   "exceeded": false,
   "value": 0,
   "threshold": 0
  },
  {
   "name": "stalled",
   "exceeded": false,
   "value": 0,
   "threshold": 0
  },
  {
   "name": "newer_versions",
   "exceeded": false,
   "value": 0,
   "threshold": 1
  },
  {
   "name": "unwritable",
   "exceeded": false,
   "value": 0,
   "threshold": 0
  },
  {
   "name": "held_up",
   "exceeded": false,
   "value": 0,
   "threshold": 0
  }
 ]
}`
		if diff := cmp.Diff(want, string(encoded)); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestABusThatStandsByCountsDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := observe.DefaultHealth()
		policy.DeadLetters = 1
		p := env.OpenPatient(t, policy)
		p.MustStart()
		standby := env.Reopen(t, p.Path, runtime.WithStandby(), runtime.WithHealth(policy, nil))
		standby.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		started := make(chan error, 1)
		go func() { started <- standby.Start(t.Context()) }()
		p.Happens(FailsForGood, 2)
		time.Sleep(2 * Look)
		health := standby.Health()
		dead := health.Checks[slices.IndexFunc(health.Checks, func(c observe.HealthCheck) bool { return c.Name == observe.CheckDeadLetters })]
		if health.Healthy || !dead.Exceeded || dead.Value != 2 || dead.Mostly != "reader" {
			t.Errorf("a bus that stands by beside 2 dead letters says %+v", health)
		}
		Must(t, p.Shutdown(context.Background()))
		Must(t, <-started)
		time.Sleep(2 * Look)
		if health := standby.Health(); health.Healthy || time.Since(health.At) > 2*Look {
			t.Errorf("when it has taken over, it says %+v", health)
		}
	})
}
