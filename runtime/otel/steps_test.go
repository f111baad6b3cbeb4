package busotel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	busotel "github.com/busgen/busgen/runtime/otel"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/step"
)

// A handler reserves, charges at the second attempt, sleeps, and gives up, which is undone. Each step has a span in the attempt that has
// done it, and none in the others.
func TestEachStepThatIsDoneHasASpanAndIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces, reader := newTraces(t), sdkmetric.NewManualReader()
		f := conformance.SQLite.Open(t, traces.option(busotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))))
		charged, panics := 0, 0
		f.Handle("fulfil", func(ctx context.Context, e placed) error {
			_, err := step.TxUndo(ctx, "reserve", func(ctx context.Context, tx runtime.Tx) (int, error) { return 1, nil },
				func(context.Context, runtime.Tx, int) error { return nil })
			if err != nil {
				return err
			}
			if _, err := step.Do(ctx, "charge/ada@example.org", func(ctx context.Context) (int, error) {
				if charged++; charged == 1 {
					return 0, errors.New("the bank is down")
				}
				_, span := traces.provider.Tracer("http").Start(ctx, "POST bank")
				span.End()
				return 7, nil
			}); err != nil {
				return err
			}
			if err := step.Sleep(ctx, "cooling off", time.Hour); err != nil {
				return err
			}
			if _, err := step.Do(ctx, "ship", func(context.Context) (int, error) {
				if panics++; panics == 1 {
					panic("boom")
				}
				return 1, nil
			}); err != nil {
				return err
			}
			return step.Rollback(errors.New("no parcel"))
		}, runtime.WithRetry(retry.MaxAttempts(3)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		synctest.Wait()

		var spans []string
		for _, line := range traces.lines() {
			if strings.HasPrefix(line, "step ") || strings.HasPrefix(line, "POST ") {
				spans = append(spans, line)
			}
		}
		wantSpans := []string{
			"step reserve < process order.placed by fulfil #1",
			"step charge < process order.placed by fulfil #1",
			"step charge < process order.placed by fulfil #2",
			"POST bank < step charge",
			"step cooling off < process order.placed by fulfil #2",
			"step ship < process order.placed by fulfil #3",
			"step ship < process order.placed by fulfil #4",
			"step undo:reserve < process order.placed by fulfil #5",
		}
		slices.Sort(spans)
		slices.Sort(wantSpans)
		if diff := cmp.Diff(wantSpans, spans); diff != "" {
			t.Error(diff)
		}
		for _, want := range [][]string{
			{"step reserve", "busgen.step=reserve", "busgen.step.kind=tx", "busgen.step.stored=tx"},
			{"step charge", "busgen.step=charge/ada@example.org", "busgen.step.kind=do", "error.type=step"},
			{"step cooling off", "busgen.step.kind=sleep", "busgen.step.stored=sleep"},
			{"step ship", "error.type=step"},
			{"step undo:reserve", "busgen.step.kind=undo", "busgen.step.stored=undo"},
		} {
			traces.span(want[0], want[1:]...)
		}
		if got := traces.span("step charge", "error.type=step").Status.Description; got != `step "charge/ada@example.org": the bank is down` {
			t.Errorf("the span of the step that has failed says %q", got)
		}
		var steps []string
		for _, line := range measured(t, reader) {
			if strings.HasPrefix(line, "busgen.steps") {
				steps = append(steps, line)
			}
		}
		const of = "name=order.placed subscription.name=fulfil S]"
		want := []string{
			"busgen.steps {step} 1 [busgen.step.kind=sleep busgen.step.stored=sleep " + of,
			"busgen.steps {step} 1 [busgen.step.kind=tx busgen.step.stored=tx " + of,
			"busgen.steps {step} 1 [busgen.step.kind=undo busgen.step.stored=undo " + of,
			"busgen.steps {step} 2 [busgen.step.kind=do busgen.step.stored=do " + of,
			"busgen.steps {step} 2 [busgen.step.kind=do error.type=step " + of,
		}
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Error(diff)
		}
	})
}

// A wait has a span when it begins, and one when it ends.
func TestAWaitForAnEventHasASpanWhenItBeginsAndWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := conformance.SQLite.ReopenWith(t, conformance.SQLite.Target(t), conformance.Parcels, traces.option())
		f.Handle("fulfil", func(ctx context.Context, e placed) error {
			_, err := step.Await(ctx, "parcel", conformance.ScannedType, "A", time.Hour)
			if errors.Is(err, step.ErrNoEvent) {
				return nil
			}
			return err
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		for _, stored := range []string{"await", "none"} {
			span := traces.span("step parcel", "busgen.step.kind=await", "busgen.step.stored="+stored)
			if value(span.Attributes, "error.type") != "" {
				t.Errorf("the span of %s has failed", stored)
			}
		}
	})
}
