package page_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page"
	"github.com/busgen/busgen/runtime/internal/conformance"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/step"
)

// paid returns a handler that is undone for an even order, and waits for a parcel of an odd one.
func paid(ctx context.Context, e runtime.Event[Order]) error {
	_, err := step.DoUndo(ctx, "charge", func(context.Context) (string, error) { return "secret <b>" + strings.Repeat("x", 400), nil },
		func(context.Context, string) error { return nil })
	if err != nil {
		return err
	}
	if e.Payload.Number%2 == 0 {
		return step.Rollback(errors.New("no parcel"))
	}
	if err := step.Sleep(ctx, "<i>pause</i>", time.Minute); err != nil {
		return err
	}
	_, err = step.Await(ctx, "parcel", conformance.ScannedType, "1", 72*time.Hour)
	return err
}

func TestThePageOfAnEventShowsTheStepsOfItsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed := runtime.Define(runtime.Spec[Order]{Name: "order.placed", Settings: declare.DefaultSettings()})
		path := SQLite.Target(t)
		bus, err := SQLite.OpenBus(t.Context(), path, runtime.NewCatalogue(placed, conformance.ScannedType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		Must(t, err)
		defer bus.Shutdown(context.Background())
		_, err = runtime.Subscribe(bus, placed, "fulfil", paid)
		Must(t, err)
		Must(t, bus.Start(t.Context()))
		var ids []string
		for n := range 2 {
			receipt, err := runtime.Publish(t.Context(), bus, placed, Order{Number: 1 + n})
			Must(t, err)
			ids = append(ids, receipt.ID.String())
		}
		time.Sleep(10 * time.Minute)
		file, err := inspect.Open(t.Context(), path)
		Must(t, err)
		defer file.Close()
		p, err := page.New(file)
		Must(t, err)
		defer p.Close()
		got := shows(t, p, "/event?id="+ids[0], "Steps: <bdi>waits in a step until ", "charge", "&lt;i&gt;pause&lt;/i&gt;", "can be undone",
			"waits for parcel.scanned until ", "bytes)", "busgen events steps")
		for _, not := range []string{"secret", "<i>", "If it keeps failing", "When it will be tried"} {
			if strings.Contains(got, not) {
				t.Errorf("it has %q:\n%s", not, got)
			}
		}
		shows(t, p, "/event?id="+ids[1], "Steps: <bdi>dead: undone", "undo:charge", ">undone</span>")

		shown, err := page.New(file, page.WithSensitive())
		Must(t, err)
		defer shown.Close()
		got = shows(t, shown, "/event?id="+ids[0], "secret", "more bytes", "./text?")
		if strings.Contains(got, strings.Repeat("x", 301)) {
			t.Error("the result is not cut")
		}
		shows(t, shown, "/text?of=step&run=0&member=&name=charge&subscription=fulfil&id="+ids[0], strings.Repeat("x", 400))
	})
}
