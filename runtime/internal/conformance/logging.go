package conformance

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestEveryFailedAttemptIsOneWarningAndEveryDeadLetterOneError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("failing", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(3)))
		f.MustStart()
		id := f.Publish(1, 2)[0].ID.String()
		f.Idle()

		warnings := f.Log.Level(t, "WARN")
		if len(warnings) != 3 {
			t.Fatalf("%d warnings, want 3", len(warnings))
		}
		for i, delay := range []float64{1000, 2000, 0} {
			line := warnings[i]
			want := map[string]any{
				"event_id": id, "event_type": "order.placed", "subscription_id": "failing",
				"attempt": float64(i + 1), "max_attempts": float64(3), "delay_ms": delay, "error": "boom",
			}
			delete(line, "time")
			delete(line, "level")
			delete(line, "msg")
			if !maps.Equal(line, want) {
				t.Errorf("warning %d has %v, want %v", i+1, line, want)
			}
		}
		errors := f.Log.Level(t, "ERROR")
		if len(errors) != 1 || errors[0]["event_id"] != id || errors[0]["reason"] != "max_attempts" || errors[0]["subscription_id"] != "failing" {
			t.Errorf("the errors are %v", errors)
		}
	})
}
