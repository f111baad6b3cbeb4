package main

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/examples/recipes/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// The clock of a kit begins at midnight of 1 January 2000 in UTC, which is one in the morning in Berlin.
func TestEachNightTheDayBeforeIsAddedUp(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Setup(subscribe)
		for id, at := range map[string]string{
			"the day before": "1999-12-30T23:59:59+01:00",
			"the first":      "1999-12-31T00:00:00+01:00",
			"the last":       "1999-12-31T23:59:59+01:00",
			"the next day":   "2000-01-01T00:00:00+01:00",
		} {
			placed, err := time.Parse(time.RFC3339, at)
			if err == nil {
				_, err = runtime.DB(kit.Bus).Exec("INSERT INTO orders (order_id, cents, placed_at) VALUES (?, 375, ?)", id, placed.UnixMilli())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		kit.Publish(events.OrderPlaced{OrderID: "now", Email: "ada@example.org", Cents: 1})
		kit.Break(events.OnReportRequestedWriteReport.String(), 1, runtimetest.Fails(errors.New("the first attempt fails")))
		kit.Advance(3 * time.Hour)

		var orders, cents int
		err := runtime.Transact(t.Context(), kit.Bus, func(tx runtime.Tx) error {
			return tx.QueryRowContext(t.Context(), "SELECT orders, cents FROM reports WHERE day = '1999-12-31'").Scan(&orders, &cents)
		})
		if err != nil || orders != 2 || cents != 750 {
			t.Errorf("the report has %d orders and %d cents, %v; want 2 and 750", orders, cents, err)
		}
	}, runtimetest.WithSchedules())
}

func TestTheProgramRunsUntilItIsTold(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, filepath.Join(t.TempDir(), "report.db")) }()
	end()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
