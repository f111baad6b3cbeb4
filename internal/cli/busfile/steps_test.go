package busfile

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/step"
)

// stepper counts how often its steps are done, the last of which fails while it is stuck.
type stepper struct {
	stuck                  atomic.Bool
	reserved, charged, all atomic.Int64
}

func (s *stepper) subscribe(t *testing.T, bus *runtime.Bus) {
	t.Helper()
	do := func(ctx context.Context, name string, n *atomic.Int64) error {
		_, err := step.Do(ctx, name, func(context.Context) (map[string]string, error) {
			n.Add(1)
			return map[string]string{"secret": name}, nil
		})
		return err
	}
	_, err := runtime.Subscribe(bus, clitest.OrderType, "fulfil", func(ctx context.Context, _ runtime.Event[clitest.OrderPlaced]) error {
		if err := do(ctx, "reserve", &s.reserved); err != nil {
			return err
		}
		if err := do(ctx, "charge", &s.charged); err != nil {
			return err
		}
		if s.stuck.Load() {
			return runtime.Permanent(errors.New("the printer has no paper"))
		}
		return do(ctx, "print", &s.all)
	})
	must(t, err)
}

// counts are how often reserve, charge and print were done.
func (s *stepper) counts() [3]int64 {
	return [3]int64{s.reserved.Load(), s.charged.Load(), s.all.Load()}
}

func TestADeadLetterWithStepsIsRetriedFromWhereTheOperatorSays(t *testing.T) {
	for flags, want := range map[string][3]int64{
		"":                 {1, 1, 1},
		" --forget charge": {1, 2, 1},
		" --from reserve":  {2, 2, 1},
		" --from charge":   {1, 2, 1},
		" --from-start":    {2, 2, 1},
	} {
		inShop(t, func(t *testing.T, s *shop) {
			var steps stepper
			steps.stuck.Store(true)
			steps.subscribe(t, s.Bus)
			r, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 1, Email: "a@example.org"})
			must(t, err)
			time.Sleep(time.Minute)
			id := r.ID.String()
			if got := steps.counts(); got != [3]int64{1, 1, 0} {
				t.Fatalf("before the retry the steps were done %v times", got)
			}
			if got := typed(t, "busgen dlq retry shop.db "+id+" --forget pay", ""); got.Status != cli.StatusNotFound {
				t.Errorf("a step that there is not: %+v", got)
			}
			steps.stuck.Store(false)
			if got := does(t, "busgen dlq retry shop.db "+id+flags); got != "matched 1, retried 1, skipped 0\n" {
				t.Errorf("retry%s prints %q", flags, got)
			}
			time.Sleep(time.Minute)
			if got := steps.counts(); got != want {
				t.Errorf("after a retry%s the steps were done %v times, want %v", flags, got, want)
			}
		})
	}
}

func TestStepsShowsWhatHandlersHaveDone(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		var steps stepper
		steps.stuck.Store(true)
		steps.subscribe(t, s.Bus)
		r, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 1, Email: "a@example.org"})
		must(t, err)
		time.Sleep(time.Minute)
		id := r.ID.String()
		got := does(t, "busgen events show shop.db "+id)
		for _, want := range []string{"fulfil, step by step: dead: permanent\n", "reserve", "charge", " do ", "(20 bytes)"} {
			if !strings.Contains(got, want) {
				t.Errorf("it does not say %q:\n%s", want, got)
			}
		}
		if strings.Contains(got, "secret") || strings.Contains(got, "send-receipt, step") {
			t.Errorf("it shows a result, or a subscription without steps:\n%s", got)
		}
		if got := does(t, "busgen events show shop.db "+id+" --show-sensitive"); !strings.Contains(got, `{"secret":"charge"}`) {
			t.Errorf("it does not show the result:\n%s", got)
		}
		var document struct {
			Deliveries []struct {
				Subscription string
				Steps        []struct{ Name, Kind string }
			}
		}
		must(t, json.Unmarshal([]byte(does(t, "busgen events show shop.db "+id+" --json")), &document))
		for _, d := range document.Deliveries {
			if d.Subscription == "fulfil" && (len(d.Steps) != 2 || d.Steps[1].Name != "charge" || d.Steps[1].Kind != "do") {
				t.Errorf("as JSON: %+v", document)
			}
		}
	})
}
