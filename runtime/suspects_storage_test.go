package runtime

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/retry"
)

// The file says that the handler runs, because it took so long, and the disk is too
// full for the success. That the process dies then is not the handler's doing.
func TestASuccessThatCouldNotBeRecordedIsNotTakenForACrash(t *testing.T) {
	simulate(t, func(s *simulated) {
		type seen struct{ attempt, max int }
		var ran []seen
		handle := func() {
			_, err := Subscribe(s.Bus, parcelType, "carrier", func(_ context.Context, e Event[parcel]) error {
				time.Sleep(50 * time.Millisecond)
				ran = append(ran, seen{e.Attempt, e.MaxAttempts})
				return nil
			}, FromBeginning(), WithRetry(retry.MaxAttempts(1)))
			s.must(err)
			s.must(s.Start(s.Context()))
		}
		handle()
		s.must(s.publish(1))
		time.Sleep(20 * time.Millisecond)
		s.disk.Fail(simfs.Fault{Op: simfs.Write, Nth: 1, Err: sqlite3.FULL, Sticky: true})
		time.Sleep(time.Second)

		image := s.disk.Kill()
		claims, err := os.ReadFile(s.path + "-claims")
		s.must(err)
		s.disk.Heal()
		s.must(s.Shutdown(context.Background()))
		s.must(os.WriteFile(s.path+"-claims", claims, 0o600))
		s.disk = simfs.New(filepath.Dir(s.path), image)
		defer s.disk.Unregister()
		s.open()
		handle()
		s.must(s.WaitIdle(s.Context()))
		synctest.Wait()
		if len(ran) != 2 || ran[1] != (seen{2, 2}) {
			t.Errorf("ran as %v, want a second execution", ran)
		}
		if r := s.Stats().Recovery; r.Interrupted != 0 || r.Dead != 0 {
			t.Errorf("recovered %+v, want nothing that was interrupted", r)
		}
	})
}
