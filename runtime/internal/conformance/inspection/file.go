package inspection

import (
	"testing"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
)

// The confirmation that an operator sees, and the audit, name the events that a filter
// means.
func (env *Env) TestAReplaySaysWhichEvents(t *testing.T) {
	one, two := uuid.MustParse("018f4f2e-1c3a-7b21-8000-000000000001"), uuid.MustParse("018f4f2e-1c3a-7b21-8000-000000000002")
	for want, filter := range map[string]event.Filter{
		"all":          {},
		"type order.*": {Types: []string{"order.*"}},
		"event 018f4f2e-1c3a-7b21-8000-000000000001": {Events: []uuid.UUID{one}},
		"one of 2 given events, type order.*":        {Events: []uuid.UUID{one, two}, Types: []string{"order.*"}},
	} {
		if got := filter.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
