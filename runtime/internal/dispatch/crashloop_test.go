package dispatch

import (
	"testing"
	"testing/synctest"
	"time"
)

// A log that keeps times to the microsecond gives back too early what waits for the end of the
// loop. If that were put off again, it would come back at once, again and again.
func TestWhatComesBackAMicrosecondTooEarlyIsNotPutOffAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loop CrashLoop
		loop.Begin(time.Now().Add(time.Second + 469*time.Nanosecond))
		time.Sleep(time.Second - time.Microsecond)
		if loop.Until().IsZero() {
			t.Error("the loop has ended too early")
		}
		time.Sleep(time.Microsecond)
		if until := loop.Until(); !until.IsZero() {
			t.Errorf("deliveries wait until %v, for %v", until, time.Until(until))
		}
	})
}
