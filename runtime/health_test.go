package runtime_test

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
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/dlq"
	"github.com/busgen/busgen/runtime/retry"
)

// patient is a bus whose handler does what the number of an event says, and
// which notes every change of its health.
type patient struct {
	*fixture
	changes journal[string]
}

// The numbers of events.
const (
	fine = iota
	failsOnce
	failsForGood
	timesOutOnce
)

func openPatient(t *testing.T, h runtime.Health) *patient {
	p := &patient{}
	p.fixture = open(t, runtime.WithHealth(h, func(c runtime.HealthCheck) {
		p.changes.add(fmt.Sprintf("%s %v: %.4g of %d, mostly %s", c.Name, c.Exceeded, c.Value, c.Samples, c.Mostly))
	}))
	p.handle("reader", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
		switch {
		case e.Payload.Number == failsForGood:
			return runtime.Permanent(errBoom)
		case e.Payload.Number == failsOnce && e.Attempt == 1:
			return errBoom
		case e.Payload.Number == timesOutOnce && e.Attempt == 1:
			<-ctx.Done()
		}
		return nil
	}, runtime.WithRetry(retry.BaseDelay(0)), runtime.WithTimeout(time.Millisecond))
	return p
}

// happens publishes so many events of a kind, and waits for their end.
func (p *patient) happens(kind, times int) {
	p.t.Helper()
	_, err := runtime.PublishBatch(p.t.Context(), p.Bus, placedType, slices.Repeat([]orderPlaced{{Number: kind}}, times))
	must(p.t, err)
	p.idle()
}

func (p *patient) requireChanges(want ...string) {
	p.t.Helper()
	synctest.Wait()
	if got := p.changes.all(); !slices.Equal(got, want) {
		p.t.Errorf("the health has changed %q, want %q", got, want)
	}
}

// look is how long it takes until the bus has looked.
const look = 10 * time.Second

func TestAThresholdIsExceededAboveItAndNotAtIt(t *testing.T) {
	duplicate := func(p *patient, times int) {
		for range times {
			_, err := runtime.Publish(p.t.Context(), p.Bus, userType, userCreated{}, runtime.WithDedupeKey("the same"))
			must(p.t, err)
		}
	}
	for name, test := range map[string]struct {
		do   func(p *patient)
		want []string
	}{
		"a tenth of the attempts is retried": {func(p *patient) { p.happens(fine, 8); p.happens(failsOnce, 10); p.happens(fine, 72) }, nil},
		"more than a tenth is retried": {
			func(p *patient) { p.happens(failsOnce, 10); p.happens(fine, 79) },
			[]string{"retries true: 0.101 of 99, mostly order.placed"},
		},
		"twenty attempts are enough": {
			func(p *patient) { p.happens(failsOnce, 3); p.happens(fine, 14) },
			[]string{"retries true: 0.15 of 20, mostly order.placed"},
		},
		"nineteen attempts are not": {func(p *patient) { p.happens(failsOnce, 9); p.happens(fine, 1) }, nil},
		"a hundred are dead":        {func(p *patient) { p.happens(failsForGood, 100) }, nil},
		"more than a hundred are dead": {
			func(p *patient) { p.happens(failsForGood, 101) },
			[]string{"dead_letters true: 101 of 0, mostly reader"},
		},
		"a twentieth of the attempts times out": {func(p *patient) { p.happens(timesOutOnce, 2); p.happens(fine, 36) }, nil},
		"more than a twentieth times out": {
			func(p *patient) { p.happens(timesOutOnce, 2); p.happens(fine, 35) },
			[]string{"timeouts true: 0.05128 of 39, mostly order.placed"},
		},
		"a fifth of the published events are duplicates": {func(p *patient) { duplicate(p, 6); p.happens(fine, 19) }, nil},
		"more than a fifth are duplicates": {
			func(p *patient) { duplicate(p, 6); p.happens(fine, 18) },
			[]string{"duplicates true: 0.2083 of 24, mostly user.created"},
		},
		"all is well": {func(p *patient) { p.happens(fine, 1000) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := openPatient(t, runtime.DefaultHealth())
				p.start()
				test.do(p)
				time.Sleep(look)
				p.requireChanges(test.want...)
				status := p.Health()
				if status.Healthy != (test.want == nil) || len(status.Checks) != 6 {
					t.Errorf("the status is %+v", status)
				}
			})
		})
	}
}

func TestAThresholdIsReportedOnceWhenItIsExceededAndOnceWhenItNoLongerIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.DefaultHealth())
		p.start()
		began := time.Now()
		exceeded := "retries true: 0.3333 of 30, mostly order.placed"
		p.happens(failsOnce, 10)
		p.happens(fine, 10)
		time.Sleep(look)
		p.requireChanges(exceeded)
		for range 20 { // it stays so
			p.happens(failsOnce, 10)
			p.happens(fine, 10)
			time.Sleep(look)
		}
		p.requireChanges(exceeded)
		status := p.Health()
		if c := status.Checks[0]; status.Healthy || !c.Exceeded || !c.Since.Equal(began.Add(look)) || c.Threshold != 0.1 {
			t.Errorf("the status is %+v", status)
		}
		for range 40 {
			p.happens(fine, 10)
			time.Sleep(look)
		}
		synctest.Wait()
		got := p.changes.all()
		if len(got) != 2 || !strings.HasPrefix(got[1], "retries false: 0.0") {
			t.Errorf("the health has changed %q, want twice", got)
		}
		if status = p.Health(); !status.Healthy || !status.At.After(status.Checks[0].Since) {
			t.Errorf("the status is %+v", status)
		}
		p.happens(failsOnce, 100)
		time.Sleep(look)
		synctest.Wait()
		if got := p.changes.all(); len(got) != 3 {
			t.Errorf("the health has changed %q, want three times", got)
		}
		var lines []string
		for _, level := range []string{"WARN", "INFO"} {
			for _, line := range p.log.level(t, level) {
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

func TestWhatIsOlderThanTheWindowDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := runtime.DefaultHealth()
		h.Window = time.Minute
		p := openPatient(t, h)
		p.start()
		p.happens(failsOnce, 20)
		time.Sleep(time.Minute - time.Second)
		if c := p.Health().Checks[0]; c.Samples != 40 || !c.Exceeded {
			t.Errorf("within the window %d attempts count: %+v", c.Samples, c)
		}
		time.Sleep(2 * look)
		if c := p.Health().Checks[0]; c.Samples != 0 || c.Exceeded {
			t.Errorf("after the window %d attempts count: %+v", c.Samples, c)
		}
		p.requireChanges("retries true: 0.5 of 40, mostly order.placed", "retries false: 0 of 0, mostly ")
		p.happens(fine, 30) // the window goes on
		time.Sleep(look)
		synctest.Wait()
		if c := p.Health().Checks[0]; c.Samples != 30 {
			t.Errorf("%d attempts count, want 30", c.Samples)
		}
	})
}

func TestDeadLettersAreReportedNoLongerWhenAnOperatorHasDealtWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.DefaultHealth())
		p.start()
		p.happens(failsForGood, 150)
		time.Sleep(look)
		time.Sleep(time.Hour)
		p.requireChanges("dead_letters true: 150 of 0, mostly reader")
		inspector, err := dlq.Open(p.path)
		must(t, err)
		defer inspector.Close()
		_, err = inspector.Purge(t.Context(), dlq.Selection{Filter: dlq.Filter{Until: time.Now()}, Limit: 50})
		must(t, err)
		time.Sleep(look)
		p.requireChanges("dead_letters true: 150 of 0, mostly reader", "dead_letters false: 100 of 0, mostly reader")
	})
}

func TestDeadLettersOfEarlierLivesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.DefaultHealth())
		p.start()
		p.happens(failsForGood, 101)
		p.stop()
		var changes journal[string]
		again := reopen(t, p.path, runtime.WithHealth(runtime.DefaultHealth(), func(c runtime.HealthCheck) { changes.add(c.Name) }))
		again.start()
		time.Sleep(look)
		synctest.Wait()
		if got := changes.all(); !slices.Equal(got, []string{"dead_letters"}) {
			t.Errorf("the health has changed %q, want once for the dead letters", got)
		}
	})
}

func TestADeadLetterThatIsWrittenAfterTheBusHasLookedIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.DefaultHealth())
		p.start()
		_, err := runtime.PublishBatch(t.Context(), p.Bus, placedType, slices.Repeat([]orderPlaced{{Number: failsForGood}}, 101), runtime.WithDelay(look-time.Second))
		must(t, err)
		locked, err := sqlite3.Open(p.path)
		must(t, err)
		defer locked.Close()
		time.Sleep(look - 2*time.Second)
		must(t, locked.Exec("BEGIN IMMEDIATE")) // they die, are counted and cannot be written
		time.Sleep(3 * time.Second)
		if got := p.Stats().Types[0].Dead; got != 101 {
			t.Fatalf("%d events are dead, want 101", got)
		}
		if c := p.Health().Checks[1]; c.Value != 0 {
			t.Fatalf("the file has %v dead letters while it is locked", c.Value)
		}
		must(t, locked.Exec("ROLLBACK"))
		time.Sleep(look)
		p.requireChanges("dead_letters true: 101 of 0, mostly reader")
	})
}

func TestAnIdleBusDoesNotAskTheFileForDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.DefaultHealth())
		p.start()
		p.happens(failsForGood, 1)
		time.Sleep(3 * look)
		// They come from elsewhere, and nothing happens here.
		must(t, execFile(p.path, `
			BEGIN;
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
			INSERT INTO log (id, type, payload, created_at) SELECT randomblob(16), type, payload, created_at FROM log, n;
			INSERT INTO deliveries (subscription, seq, state, failures, dead_at, reason)
			SELECT 1, seq, 'dead', 1, 0, 'permanent' FROM log WHERE seq > 1;
			UPDATE subscriptions SET cursor = (SELECT max(seq) FROM log);
			COMMIT`))
		time.Sleep(10 * look)
		p.requireChanges()
		p.happens(fine, 1)
		time.Sleep(look)
		p.requireChanges("dead_letters true: 201 of 0, mostly reader")
	})
}

func TestHealthIsWatchedByTheBusThatDispatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.DefaultHealth())
		for range 100 {
			p.publish(failsOnce)
		}
		time.Sleep(time.Hour)
		if status := p.Health(); !status.Healthy || !status.At.IsZero() || len(status.Checks) != 6 {
			t.Errorf("before the start the status is %+v", status)
		}
		p.start()
		p.idle()
		time.Sleep(look)
		p.requireChanges("retries true: 0.5 of 200, mostly order.placed")
		p.stop()
		if p.Health().Healthy {
			t.Error("the shutdown has healed the bus")
		}
	})
}

func TestHealthCanBeLeftUnwatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.Health{Off: true})
		p.start()
		p.happens(failsOnce, 100)
		time.Sleep(time.Hour)
		p.requireChanges()
		if status := p.Health(); !status.Healthy || len(status.Checks) != 0 {
			t.Errorf("the status is %+v", status)
		}
	})
}

func TestHealthThatCannotBeWatchedIsRefused(t *testing.T) {
	with := func(change func(*runtime.Health)) runtime.Health {
		h := runtime.DefaultHealth()
		change(&h)
		return h
	}
	for name, test := range map[string]struct {
		health runtime.Health
		want   []string // in the error; none for a valid one
	}{
		"the default":           {runtime.DefaultHealth(), nil},
		"nothing is set":        {runtime.Health{}, []string{"MinSamples is 0", "Every is 0s"}},
		"the zero value is off": {runtime.Health{Off: true}, nil},
		"a share above 1":       {with(func(h *runtime.Health) { h.RetryRate = 1.5 }), []string{"RetryRate is 1.5: it must be between 0 and 1"}},
		"shares that are none": {
			with(func(h *runtime.Health) { h.TimeoutRate, h.DuplicateRate = -0.1, math.NaN() }),
			[]string{"TimeoutRate is -0.1", "DuplicateRate is NaN"},
		},
		"a negative number":                {with(func(h *runtime.Health) { h.DeadLetters = -1 }), []string{"DeadLetters is -1"}},
		"a window that is shorter than it": {with(func(h *runtime.Health) { h.Window = time.Second }), []string{"Window is 1s: it must be between Every, 10s, and 24h"}},
		"any dead letter is too many":      {with(func(h *runtime.Health) { h.DeadLetters = 0 }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			bus, err := runtime.Open(t.Context(), t.TempDir()+"/events.db", catalogue, runtime.WithHealth(test.health, nil))
			if test.want == nil {
				must(t, err)
				must(t, bus.Shutdown(context.Background()))
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

func TestDeadLettersThatCannotBeCountedAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.DefaultHealth())
		p.start()
		must(t, execFile(p.path, "ALTER TABLE subscriptions RENAME TO hidden"))
		time.Sleep(5 * look)
		must(t, execFile(p.path, "ALTER TABLE hidden RENAME TO subscriptions"))
		time.Sleep(5 * look)
		n := 0
		for _, line := range p.log.level(t, "ERROR") {
			if line["msg"] == "dead letters cannot be counted; trying again" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("it was logged %d times, want once", n)
		}
		p.happens(failsForGood, 101)
		time.Sleep(look)
		p.requireChanges("dead_letters true: 101 of 0, mostly reader")
	})
}

func TestHealthAsJSONIsWhatAnEndpointWouldServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, runtime.DefaultHealth())
		p.start()
		p.happens(failsOnce, 20)
		time.Sleep(look)
		synctest.Wait()
		encoded, err := json.MarshalIndent(p.Health(), "", " ")
		must(t, err)
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
  }
 ]
}`
		if diff := cmp.Diff(want, string(encoded)); diff != "" {
			t.Error(diff)
		}
	})
}
