package sqlite

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestTheWriterLooksForACommitOfTheProgramLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
		must(t, err)
		defer log.Close()
		want := func(delay time.Duration) {
			t.Helper()
			if got := log.owner.lookout.pollDelay(); got != delay {
				t.Errorf("the writer looks every %v, want %v", got, delay)
			}
		}
		log.owner.lookout.watchOthers()
		synctest.Wait()
		want(pollDelay)
		log.owner.lookout.expect(1, uuid.New()) // which never comes
		for _, after := range []struct{ wait, delay time.Duration }{
			{999 * time.Millisecond, time.Millisecond}, {time.Millisecond, 10 * time.Millisecond}, {9 * time.Second, 100 * time.Millisecond},
			{10 * time.Second, pollDelay},
		} {
			time.Sleep(after.wait)
			want(after.delay)
		}
		if log.owner.lookout.foreign.Load() != nil {
			t.Error("after that the event is still looked for")
		}

		// Where this process can write, no transaction of others is under way.
		log.owner.lookout.expect(1, uuid.New())
		must(t, log.Declare(t.Context(), []engine.TypeSpec{{Name: "order.placed", Version: 1}}, nil))
		want(pollDelay)
	})
}
