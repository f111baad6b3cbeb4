package sqlite

import (
	"errors"
	"testing"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// A restore replaces the file before the writer notices. Who waits then must not take an event that is not there for
// one that nobody has to handle.
func TestAnEventThatTheLogNeverHadIsLostByARestore(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		if outcome, err := log.Outcome(t.Context(), 1); err != nil || len(outcome) > 0 {
			t.Errorf("the event that nobody has to handle: %v, %v", outcome, err)
		}
		if _, err := log.Outcome(t.Context(), 2); !errors.Is(err, engine.ErrRestored) {
			t.Errorf("an event that is younger than the log: %v, want ErrRestored", err)
		}
	})
}
