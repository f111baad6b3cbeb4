package txtest

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/transact"
)

// codeError is an error whose methods panic if it is nil.
type codeError struct{ code int }

func (e *codeError) Error() string        { return fmt.Sprint(e.code) }
func (e *codeError) Is(target error) bool { return e.code == 0 }
func (e *codeError) Unwrap() error        { return errors.New(fmt.Sprint(e.code)) }

// oddEnds are ways to end a function other than with nil or a proper error.
var oddEnds = map[string]func() error{
	"panic":                  func() error { panic("no") },
	"panic with a typed nil": func() error { panic((*codeError)(nil)) },
	"a typed nil":            func() error { return (*codeError)(nil) },
	"Goexit":                 func() error { goruntime.Goexit(); return nil },
}

// aside runs f on a goroutine of its own, and tells how that has ended.
func aside(f func() error) <-chan string {
	how := make(chan string, 1)
	go func() {
		said := "Goexit"
		defer func() {
			if cause := recover(); cause != nil {
				said = fmt.Sprintf("panic %T", cause)
			}
			how <- said
		}()
		if err := f(); err != nil {
			said = fmt.Sprintf("error %T", err)
		} else {
			said = "nil"
		}
	}()
	return how
}

// amid runs a function in one transaction between two that book, and tells how it has ended. The
// others are stored, and wait for no longer than most.
func amid(f *fixture, most time.Duration, wrong func(tx runtime.Tx) error) string {
	f.Helper()
	ctx := context.Background()
	var before, how, after <-chan string
	var done time.Time
	f.must(runtime.Transact(ctx, f.Bus, func(runtime.Tx) error {
		before = aside(func() error {
			return runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 5) })
		})
		synctest.Wait()
		how = aside(func() error { return runtime.Transact(ctx, f.Bus, wrong) })
		synctest.Wait()
		after = aside(func() error {
			return runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 2, 5) })
		})
		synctest.Wait()
		done = time.Now()
		return nil
	}))
	if b, a := <-before, <-after; b != "nil" || a != "nil" {
		f.Errorf("the others end with %s and %s", b, a)
	}
	if took := time.Since(done); took > most {
		f.Errorf("the others wait for %v", took)
	}
	f.wantNumber(210, "SELECT sum(balance) FROM account")
	f.wantNumber(2, "SELECT count(*) FROM entry")
	f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	return <-how
}

// soon is less than any limit.
const soon = 10 * time.Millisecond

func TestHoweverAFunctionEndsTheOthersAreStored(t *testing.T) {
	for name, want := range map[string]string{
		"panic": "panic string", "panic with a typed nil": "panic *txtest.codeError", "a typed nil": "error *txtest.codeError", "Goexit": "Goexit",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, 2)
				var receipt *runtime.Receipt
				how := amid(f, soon, func(tx runtime.Tx) (err error) {
					f.must(f.book(context.Background(), tx, 1, 50))
					receipt, err = runtime.Publish(context.Background(), tx, bookedType, booking{1, 50})
					f.must(err)
					return oddEnds[name]()
				})
				if how != want {
					t.Errorf("it ends with %s, want %s", how, want)
				}
				if _, err := receipt.Wait(context.Background()); err != transact.ErrTxUndone {
					t.Errorf("waiting for its event gives %v", err)
				}
			})
		})
	}
}

// The subscription goes on with the next event.
func TestHoweverATransactionalHandlerEndsNothingOfItIsStored(t *testing.T) {
	for name, end := range oddEnds {
		t.Run(name, func(t *testing.T) {
			forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
				f := open(t, 1)
				f.must(subscribe(f, "book", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
					if err := f.book(ctx, tx, 1, 0); err != nil || e.Payload.Amount < 0 {
						return err
					}
					if e.Payload.Amount == 1 {
						return end()
					}
					return nil
				}, runtime.WithRetry(retry.MaxAttempts(1))))
				f.must(f.Start(t.Context()))
				if outcome := f.settled(1); outcome.Err() == nil || outcome.Deliveries[0].Failures != 1 {
					t.Errorf("the outcome is %+v", outcome)
				}
				f.wantNumber(0, "SELECT count(*) FROM entry")
				f.wantNumber(1, "SELECT count(*) FROM events WHERE type = 'money.booked'")
			})
		})
	}
}

// Not even from the memory of the bus. Nor do those of a run after which the function has run again.
func TestTheEventsOfAFunctionThatFailsReachNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2)
		ctx := context.Background()
		var seen conformance.Journal[int]
		_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
			seen.Add(e.Payload.Account)
			return nil
		})
		f.must(err)
		f.must(f.Start(ctx))
		publish := func(account int, end func(tx runtime.Tx) error) func(tx runtime.Tx) error {
			return func(tx runtime.Tx) error {
				_, err := runtime.Publish(ctx, tx, bookedType, booking{Account: account})
				return errors.Join(err, end(tx))
			}
		}
		well := func(runtime.Tx) error { return nil }
		wrong := func(runtime.Tx) error { return errors.New("no") }
		f.together(publish(1, well), publish(3, wrong), publish(2, well), publish(4, wrong))
		time.Sleep(time.Minute)
		runs := 0
		f.together(func(tx runtime.Tx) error {
			if runs++; runs > 1 {
				return nil
			}
			return errors.Join(publish(5, well)(tx), publish(6, well)(tx))
		}, spoil)
		time.Sleep(time.Minute)
		if got := seen.All(); runs != 2 || len(got) != 2 || got[0] != 1 || got[1] != 2 {
			t.Errorf("after %d runs handled are the events of the accounts %v, want 1 and 2", runs, got)
		}
	})
}

// odd is a value that runs code of the program while it is converted, in either direction.
type odd struct{ f func() error }

func (o odd) Value() (driver.Value, error) { return int64(1), o.f() }
func (o odd) Scan(any) error               { return o.f() }

// Both directions of a conversion.
var conversions = map[string]func(ctx context.Context, tx runtime.Tx, o odd) error{
	"Value": func(ctx context.Context, tx runtime.Tx, o odd) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, ?)", o)
		return err
	},
	"Scan": func(ctx context.Context, tx runtime.Tx, o odd) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, 1)"); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT id FROM account").Scan(o)
	},
}

func TestHoweverAConversionEndsTheOthersAreStored(t *testing.T) {
	for direction, convert := range conversions {
		for name, end := range oddEnds {
			if direction == "Scan" && name != "a typed nil" {
				continue // database/sql never comes back from it: see below
			}
			t.Run(direction+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := open(t, 2)
					how := amid(f, soon, func(tx runtime.Tx) error { return convert(context.Background(), tx, odd{end}) })
					if how == "nil" {
						t.Error("there is no error")
					}
				})
			})
		}
	}
}

// What would wait for the function itself is refused there, too.
func TestAConversionThatCallsTheBusIsToldThatItIsInATransaction(t *testing.T) {
	for direction, convert := range conversions {
		t.Run(direction, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, 2)
				ctx := context.Background()
				calls := 0
				how := amid(f, 40*time.Millisecond, func(tx runtime.Tx) error {
					return convert(ctx, tx, odd{func() error {
						calls++
						if _, err := runtime.Publish(ctx, f.Bus, bookedType, booking{1, 1}); err != transact.ErrInTx {
							t.Errorf("publishing gives %v", err)
						}
						if err := runtime.Transact(ctx, f.Bus, func(runtime.Tx) error { return nil }); err != transact.ErrInTx {
							t.Errorf("a transaction gives %v", err)
						}
						if _, err := runtime.Publish(ctx, tx, bookedType, booking{1, 1}); err != nil {
							t.Errorf("publishing with the Tx gives %v", err)
						}
						return errors.New("no")
					}})
				})
				if calls != 1 || how == "nil" {
					t.Errorf("after %d calls it ends with %s", calls, how)
				}
			})
		})
	}
}

// The conversion blocks in the function, or on a goroutine that it does not wait for. A Scan that panics blocks, too,
// on a lock of database/sql. This takes real time, because virtual time stands still while somebody waits for
// such a lock.
func TestAConversionThatNeverEndsHoldsUpNobody(t *testing.T) {
	for direction, convert := range conversions {
		for name, never := range map[string]func() error{"blocks": func() error { select {} }, "panics": oddEnds["panic"]} {
			for _, waits := range []bool{true, false} {
				t.Run(fmt.Sprint(direction, " ", name, " ", waits), func(t *testing.T) {
					f := open(t, 2)
					ctx := context.Background()
					begun := make(chan struct{})
					wrong := odd{func() error {
						close(begun)
						return never()
					}}
					how := aside(func() error {
						return runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
							if waits {
								return convert(ctx, tx, wrong)
							}
							aside(func() error { return convert(ctx, tx, wrong) })
							<-begun
							return errors.New("no")
						})
					})
					<-begun
					f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 5) }))
					if !waits {
						if got := <-how; got != "error *errors.errorString" {
							t.Errorf("it ends with %s", got)
						}
					}
					f.wantNumber(1, "SELECT count(*) FROM entry")
				})
			}
		}
	}
}
