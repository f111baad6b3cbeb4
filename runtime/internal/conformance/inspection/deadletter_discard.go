package inspection

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func (env *Env) TestPurgingWorksThroughManyDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeManyDead(t, 1200).Inspect()
		steps := 0
		counts, err := i.Purge(t.Context(), inspect.Selection{
			Filter: event.Filter{Until: time.Now()}, Progress: func(inspect.Counts) { steps++ },
		})
		if counts != (inspect.Counts{Matched: 1200, Moved: 1200}) || err != nil || i.Count() != 0 || steps != 12 {
			t.Errorf("purged %+v (%v) in %d steps, want 1200 in 12", counts, err, steps)
		}
	})
}
