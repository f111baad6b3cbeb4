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

func TestSettingsInWords(t *testing.T) {
	const attempt, dead = "An attempt may take 30s. ", "An event that fails is tried up to 4 times in all, 1s, 2s and 4s apart (give or take 10 %), and then kept as a dead letter."
	for yaml, want := range map[string]string{
		"{}":                    attempt + dead,
		"{ expires_after: 2d }": attempt + dead + " One that is not handled within 2d is a dead letter too.",
		"{ redrive: {} }":       attempt + dead + " Dead letters are redriven after 1h, up to 3 times.",
		"{ redrive: { max: 1, reasons: [timeout, panic] } }":                           attempt + dead + " Dead letters whose reason is timeout or panic are redriven after 1h, once.",
		"{ errors: { a: permanent, b: { retry: {} }, c: permanent } }":                 attempt + dead + " It is not tried again if the error is a or c.",
		"{ errors: { a: { retry: { max_attempts: 1 } }, b: permanent } }":              attempt + dead + " It is not tried again if the error is b. If the error is a: tried once.",
		"{ errors: { a: { retry: { max_attempts: 2, jitter: 0, base_delay: 7s } } } }": attempt + dead + " If the error is a: tried up to 2 times in all, 7s apart.",
	} {
		if got := settingWords(parsed(t, "events: { e: "+yaml+" }\n").Events[0].Settings); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", yaml, got, want)
		}
	}
}
