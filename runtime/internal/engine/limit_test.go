package engine

import (
	"testing"
	"time"
)

func TestABucketOfOtherNumbersIsAsUsedUpAsBefore(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, test := range map[string]struct{ left, before, after, want time.Duration }{
		"a full one stays full":                 {-time.Second, time.Second, time.Minute, -time.Second},
		"an empty one of a slower rate":         {time.Second, time.Second, 100 * time.Second, 100 * time.Second},
		"half of a slower rate":                 {time.Second / 2, time.Second, 100 * time.Second, 50 * time.Second},
		"an empty one of a faster rate":         {100 * time.Second, 100 * time.Second, time.Second, time.Second},
		"one that was leased ahead":             {3 * time.Second, time.Second, 10 * time.Second, 10 * time.Second},
		"one of a file that does not say which": {time.Second, 0, time.Minute, time.Second},
	} {
		if got := Rescale(now.Add(test.left), now, test.before, test.after).Sub(now); got != test.want {
			t.Errorf("%s: it is full after %v, want %v", name, got, test.want)
		}
	}
}
