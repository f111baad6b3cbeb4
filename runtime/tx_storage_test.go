package runtime

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/observe"
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
		if n := s.logged("WARN", "what a handler has done could not be stored"); n != 3 {
			s.Errorf("it is logged %d times, want 3", n)
		}
	})
}

// The disk is full when a transaction of several functions and publishers is to be stored. All of them are
// told, nothing is stored and nobody is woken; and with space everything works again.
func TestAFullDiskInTheMiddleOfManyTransactionsStoresNothing(t *testing.T) {
	simulate(t, func(s *simulated) {
		s.must(Transact(s.Context(), s.Bus, func(tx Tx) error {
			_, err := tx.ExecContext(s.Context(), "CREATE TABLE carried (number INTEGER)")
			return err
		}))
		_, err := Subscribe(s.Bus, parcelType, "carrier", func(_ context.Context, e Event[parcel]) error {
			s.Errorf("%+v is handled", e)
			return nil
		})
		s.must(err)
		s.must(s.Start(s.Context()))
		time.Sleep(time.Second)
		carry := func(number int) error {
			return Transact(context.Background(), s.Bus, func(tx Tx) error {
				if number == 3 { // two others are done, and two are to come
					s.disk.Fail(simfs.Fault{Op: simfs.Write | simfs.Truncate, Nth: 1, Err: answer(syscall.ENOSPC), Sticky: true})
				}
				if _, err := tx.ExecContext(context.Background(), "INSERT INTO carried VALUES (?)", number); err != nil {
					return err
				}
				_, err := Publish(context.Background(), tx, parcelType, parcel{Number: number})
				return err
			})
		}
		outcomes := make(chan error, 5)
		s.must(Transact(s.Context(), s.Bus, func(Tx) error {
			for _, one := range []func() error{
				func() error { return carry(1) }, func() error { return s.publish(2) }, func() error { return carry(3) },
				func() error { return s.publish(4) }, func() error { return carry(5) },
			} {
				go func() { outcomes <- one() }()
				synctest.Wait() // until it is queued
			}
			return nil
		}))
		for range 5 {
			var storage *event.StorageError
			if err := <-outcomes; !errors.As(err, &storage) || storage.Fault != event.DiskFull {
				s.Errorf("the error is %v", err)
			}
		}
		time.Sleep(time.Minute)
		count := func() (rows, events int) {
			s.must(Transact(s.Context(), s.Bus, func(tx Tx) error {
				return tx.QueryRowContext(s.Context(), "SELECT (SELECT count(*) FROM carried), (SELECT count(*) FROM events)").Scan(&rows, &events)
			}))
			return rows, events
		}
		s.disk.Heal()
		if rows, events := count(); rows != 0 || events != 0 {
			s.Errorf("there are %d rows and %d events, want none", rows, events)
		}
		s.must(s.PauseSubscription(s.Context(), "carrier", ""))
		s.must(carry(6))
		if rows, events := count(); rows != 1 || events != 1 {
			s.Errorf("there are %d rows and %d events, want one each", rows, events)
		}
	})
}

func TestEventsThatAreNotStoredWithTheirTransactionAreCountedAsRefused(t *testing.T) {
	simulate(t, func(s *simulated) {
		full := func() {
			s.disk.Fail(simfs.Fault{Op: simfs.Write | simfs.Truncate, Nth: 1, Err: answer(syscall.ENOSPC), Sticky: true})
		}
		transact := func(number int, then func() error) error {
			return Transact(s.Context(), s.Bus, func(tx Tx) error {
				if _, err := PublishBatch(s.Context(), tx, parcelType, []parcel{{Number: number}, {Number: number + 1}}); err != nil {
					return err
				}
				if _, err := Publish(s.Context(), tx, parcelType, parcel{Number: number + 2}); err != nil {
					return err
				}
				return then()
			})
		}
		counts := func(want map[string]uint64) {
			s.Helper()
			for reason, n := range s.Stats().Refused {
				if n != want[reason] {
					s.Errorf("%d events are counted as refused for %s, want %d", n, reason, want[reason])
				}
			}
		}
		s.must(transact(1, func() error { return nil }))
		if err := transact(4, func() error { return errors.New("not today") }); err == nil || err.Error() != "not today" {
			s.Errorf("the error is %v", err)
		}
		counts(nil) // the program itself has taken them back
		var storage *event.StorageError
		if err := transact(7, func() error { full(); return nil }); !errors.As(err, &storage) || storage.Fault != event.DiskFull {
			s.Errorf("the error is %v", err)
		}
		counts(map[string]uint64{"disk_full": 3})
		s.disk.Heal()
		s.must(transact(10, func() error { return nil }))
		counts(map[string]uint64{"disk_full": 3})
	})
}

// A transaction that has nothing to write works on a full disk, and so does a statement that changes nothing.
func TestWhatWritesNothingDoesNotTellThatTheDiskCanBeWrittenAgain(t *testing.T) {
	for fault, disk := range map[event.Fault]syscall.Errno{event.DiskFull: syscall.ENOSPC, event.ReadOnly: syscall.EROFS, event.IO: syscall.EIO} {
		t.Run(string(fault), func(t *testing.T) {
			simulate(t, func(s *simulated) {
				s.must(s.Start(s.Context()))
				s.disk.Fail(simfs.Fault{Op: simfs.Write | simfs.Truncate, Nth: 1, Err: answer(disk), Sticky: true})
				began := time.Now()
				err := Transact(s.Context(), s.Bus, func(tx Tx) error {
					_, err := tx.ExecContext(s.Context(), "CREATE TABLE carried (number INTEGER)")
					return err
				})
				var storage *event.StorageError
				if !errors.As(err, &storage) || storage.Fault != fault {
					s.Errorf("the error is %v", err)
				}
				every := observe.DefaultHealth().Every
				for looks := range 3 {
					time.Sleep(time.Until(began.Add(every*time.Duration(looks+1) - time.Millisecond)))
					Transact(s.Context(), s.Bus, func(Tx) error { return nil })
					time.Sleep(2 * time.Millisecond) // the bus looks
					health := s.Health()
					at := slices.IndexFunc(health.Checks, func(c observe.HealthCheck) bool { return c.Name == observe.CheckUnwritable })
					if c := health.Checks[at]; !c.Exceeded || !c.Since.Equal(began) || c.Mostly != string(fault) {
						s.Errorf("after %v the check is %+v, want it exceeded since %v", time.Since(began), c, began)
					}
				}
				s.disk.Heal()
				time.Sleep(every)
				if health := s.Health(); !health.Healthy {
					s.Errorf("the disk can be written, and the health is %+v", health)
				}
			})
		})
	}
}

// The disk fails while the transaction is committed, and the file cannot be repaired.
func TestAnEventOfATransactionInDoubtIsInDoubt(t *testing.T) {
	simulate(t, func(s *simulated) {
		var receipt *Receipt
		err := Transact(s.Context(), s.Bus, func(tx Tx) (err error) {
			receipt, err = Publish(s.Context(), tx, parcelType, parcel{Number: 1})
			s.disk.Fail(simfs.Fault{Op: simfs.Sync, Nth: 1, Err: answer(syscall.EIO), Sticky: true})
			return err
		})
		_, waited := receipt.Wait(s.Context())
		for _, err := range []error{err, waited} {
			var storage *event.StorageError
			if !errors.As(err, &storage) || !storage.InDoubt {
				s.Errorf("the error is %v", err)
			}
		}
		s.disk.Heal()
	})
}
