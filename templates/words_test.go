package templates

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/retry"
)

func TestAPolicyInWords(t *testing.T) {
	tests := []struct {
		name string
		opts []retry.Option
		want string
	}{
		{"the default", nil,
			"An event that fails is tried up to 4 times in all, 1s, 2s and 4s apart (give or take 10 %), and then kept as a dead letter."},
		{"no retry", []retry.Option{retry.MaxAttempts(1)},
			"An event that fails is not tried again but kept as a dead letter."},
		{"one retry", []retry.Option{retry.MaxAttempts(2), retry.Jitter(0)},
			"An event that fails is tried up to 2 times in all, 1s apart, and then kept as a dead letter."},
		{"no waits", []retry.Option{retry.WithBackoff(retry.None)},
			"An event that fails is tried up to 4 times in all, without a wait, and then kept as a dead letter."},
		{"equal waits", []retry.Option{retry.WithBackoff(retry.Constant), retry.BaseDelay(90 * time.Second), retry.MaxDelay(time.Hour), retry.Jitter(0.125)},
			"An event that fails is tried up to 4 times in all, 1m30s apart (give or take 12.5 %), and then kept as a dead letter."},
		{"more waits than one wants to read", []retry.Option{retry.MaxAttempts(20), retry.MaxDelay(5 * time.Minute), retry.Jitter(0)},
			"An event that fails is tried up to 20 times in all, 1s, 2s, 4s, 8s, 16s and so on up to 5m apart, and then kept as a dead letter."},
		{"waits that begin to differ late", []retry.Option{retry.MaxAttempts(8), retry.BaseDelay(0), retry.Jitter(0)},
			"An event that fails is tried up to 8 times in all, without a wait, and then kept as a dead letter."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := retryWords(retry.Default().With(test.opts...)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestDurationsInWordsHaveNoZeroParts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0s",
		250 * time.Millisecond:  "250ms",
		10 * time.Second:        "10s",
		time.Minute:             "1m",
		70 * time.Second:        "1m10s",
		time.Hour:               "1h",
		10 * time.Minute:        "10m",
		90 * time.Minute:        "1h30m",
		time.Hour + time.Second: "1h0m1s",
		20 * time.Hour:          "20h",
	} {
		if got := compact(d); got != want {
			t.Errorf("compact(%d) = %s, want %s", d, got, want)
		}
	}
}
