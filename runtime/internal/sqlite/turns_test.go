package sqlite

import (
	"testing"
	"time"
)

func TestPublishersAreLetInAfterEachStepForLongerThanItTook(t *testing.T) {
	for name, test := range map[string]struct{ took, want time.Duration }{
		"a step that takes no time":         {0, 10 * time.Millisecond},
		"a quick one":                       {500 * time.Microsecond, 10 * time.Millisecond},
		"one that takes a few milliseconds": {3 * time.Millisecond, 36 * time.Millisecond},
		"one on a slow disk":                {20 * time.Millisecond, 240 * time.Millisecond},
		"one that waited for a lock":        {5 * time.Second, 250 * time.Millisecond},
	} {
		if got := rest(test.took); got != test.want {
			t.Errorf("after %s: %v, want %v", name, got, test.want)
		}
	}
}
