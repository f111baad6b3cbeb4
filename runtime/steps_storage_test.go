package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/retry"
)

// Package step imports this one, so these tests call what is behind it.

// doStep does a step of a handler unless it is stored.
func doStep(ctx context.Context, name string, f func()) error {
	a := dispatch.FromContext(ctx)
	stored, err := a.BeginStep(ctx, name, nil, 0)
	if stored != nil || err != nil {
		return err
	}
	f()
	a.EndStep(name, false)
	return a.StoreStep(engine.Step{Name: name, Kind: engine.StepDo, Result: []byte("1"), Shape: "int"})
}

// txStep is doStep with a row.
func txStep(ctx context.Context, name string) error {
	a := dispatch.FromContext(ctx)
	stored, err := a.BeginStep(ctx, name, nil, 0)
	if stored != nil || err != nil {
		return err
	}
	defer a.EndStep(name, false)
	return forGenerated{}.StepTx(ctx, a, engine.Step{Name: name, Kind: engine.StepTx, Result: []byte("1"), Shape: "int"}, txStep, func(tx Tx, _ *engine.Step) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO effect (step) VALUES (?)", name)
		return err
	})
}

// What a step returns survives a power cut that comes at once, for steps of many handlers that share a sync, too.
func TestAStepIsSyncedBeforeItReturns(t *testing.T) {
	for _, workers := range []int{1, 16} {
		simulate(t, func(s *simulated) {
			var images []simfs.Image
			_, err := Subscribe(s.Bus, parcelType, "carrier", func(ctx context.Context, e Event[parcel]) error {
				err := doStep(ctx, "charge", func() {})
				s.mu.Lock()
				defer s.mu.Unlock()
				images = append(images, s.disk.Crash(uint64(len(images))))
				return err
			}, WithConcurrency(workers))
			s.must(err)
			s.must(s.Start(s.Context()))
			for n := range workers {
				s.must(s.publish(n))
			}
			s.must(s.WaitIdle(s.Context()))
			for i, image := range images {
				found := 0
				for name, content := range image {
					if !strings.HasSuffix(name, "-shm") {
						found += strings.Count(string(content), "charge")
					}
				}
				if found < i+1 {
					t.Errorf("after a power cut behind step %d of %d the disk has %d steps", i+1, workers, found)
				}
			}
		})
	}
}

// The power fails at each change of the disk while a handler does two rows and two effects. No effect begins again after its
// step has returned, and each row is there once.
func TestAStepInATransactionIsDoneOnceOverPowerCuts(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 7
	}
	twice := 0
	for cut := 1; ; cut += every {
		survived := false
		simulate(t, func(s *simulated) {
			s.must(Transact(s.Context(), s.Bus, func(tx Tx) error {
				_, err := tx.ExecContext(s.Context(), "CREATE TABLE effect (step TEXT)")
				return err
			}))
			effects, returned := map[string]int{}, map[string]bool{}
			life := 0
			handle := func(ctx context.Context, e Event[parcel]) error {
				began := life
				for _, name := range []string{"reserve", "charge", "ship", "mail"} {
					var err error
					if name == "reserve" || name == "ship" {
						err = txStep(ctx, name)
					} else {
						err = doStep(ctx, name, func() {
							if began != life { // the disk has failed and was mended for it alone
								return
							}
							if effects[name]++; returned[name] {
								t.Errorf("cut %d: the step %s has returned, and begins again", cut, name)
							}
						})
					}
					if err != nil {
						return err
					}
					returned[name] = returned[name] || began == life
				}
				return nil
			}
			start := func() {
				_, err := Subscribe(s.Bus, parcelType, "carrier", handle, FromBeginning(), WithRetry(retry.MaxAttempts(1)))
				s.must(err)
				s.must(s.Start(s.Context()))
			}
			start()
			s.must(s.publish(1))
			s.disk.CutAfter(cut)
			time.Sleep(time.Second)
			synctest.Wait()
			if !s.disk.Dead() {
				survived = true
				return
			}
			image := s.disk.Crash(uint64(cut))
			life++
			s.disk.Heal()
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			s.Shutdown(ctx)
			s.must(os.RemoveAll(s.path + "-claims")) // nothing orders it before the disk's changes
			s.disk = simfs.New(filepath.Dir(s.path), image)
			defer s.disk.Unregister()
			s.open()
			start()
			s.must(s.WaitIdle(s.Context()))
			for _, name := range []string{"charge", "mail"} {
				if effects[name] > 1 {
					twice++
				}
				if effects[name] == 0 {
					t.Errorf("cut %d: the step %s was not done", cut, name)
				}
			}
			var rows, steps int
			s.must(DB(s.Bus).QueryRowContext(s.Context(), "SELECT count(*), count(DISTINCT step) FROM effect").Scan(&rows, &steps))
			if rows != 2 || steps != 2 {
				t.Errorf("cut %d: there are %d rows of %d steps, want 2 of 2", cut, rows, steps)
			}
		})
		if survived || t.Failed() {
			t.Logf("%d cuts; %d effects were there twice", cut-1, twice)
			return
		}
	}
}

// The disk is full when a step is to be stored. The event is tried again, and the policy allows one attempt.
func TestAStepThatCannotBeStoredDoesNotCountAsAnAttempt(t *testing.T) {
	simulate(t, func(s *simulated) {
		calls := 0
		_, err := Subscribe(s.Bus, parcelType, "carrier", func(ctx context.Context, e Event[parcel]) error {
			err := doStep(ctx, "charge", func() {
				if calls++; calls <= 3 {
					s.disk.Fail(simfs.Fault{Op: simfs.Write | simfs.Truncate, Nth: 1, Err: answer(syscall.ENOSPC), Sticky: true})
					time.AfterFunc(10*time.Second, s.disk.Heal)
				}
			})
			if err != nil {
				err = fmt.Errorf("wrapped: %w", err)
			}
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
