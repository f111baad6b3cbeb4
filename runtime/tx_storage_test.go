package runtime

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/retry"
)

// The disk is full whenever the transaction of the handler is to be stored, three times. The
// policy allows one attempt.
func TestATransactionThatCannotBeStoredDoesNotCountAsAnAttempt(t *testing.T) {
	simulate(t, func(s *simulated) {
		calls := 0
		_, err := SubscribeTx(s.Bus, parcelType, "carrier", func(ctx context.Context, tx Tx, e Event[parcel]) error {
			if calls++; calls <= 3 {
				s.disk.Fail(simfs.Fault{Op: simfs.Write | simfs.Truncate, Nth: 1, Err: answer(syscall.ENOSPC), Sticky: true})
				time.AfterFunc(10*time.Second, s.disk.Heal)
			}
			if e.Attempt != calls {
				s.Errorf("call %d is attempt %d", calls, e.Attempt)
			}
			_, err := tx.ExecContext(ctx, "CREATE TABLE carried (number INTEGER)")
			return err
		}, WithRetry(retry.MaxAttempts(1)))
		s.must(err)
		s.must(s.Start(s.Context()))
		receipt, err := Publish(s.Context(), s.Bus, parcelType, parcel{Number: 1})
		s.must(err)
		outcome, err := receipt.Wait(s.Context())
		s.must(err)
		s.must(outcome.Err())
		if calls != 4 || outcome.Deliveries[0].Failures != 0 {
			s.Errorf("%d calls, and %d attempts are counted as failed", calls, outcome.Deliveries[0].Failures)
		}
		if n := s.logged("WARN", "the transaction of a handler could not be stored"); n != 3 {
			s.Errorf("it is logged %d times, want 3", n)
		}
	})
}
