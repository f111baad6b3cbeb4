package runtimetest

import (
	"strings"
	"testing"
)

// A scenario that does something else in each run, or ends too soon, proves nothing.
func TestARunWithoutItsCrashSaysWhy(t *testing.T) {
	at := stepPoint{subscription: "fulfil", step: "charge", nth: 1}
	c := newCrashes(&at)
	c.point("fulfil", "charge", false) // the first
	c.point("fulfil", "charge", true)
	c.point("other", "charge", false)
	if got := c.missed(); !strings.Contains(got, "no handler has come to the point of its crash, before charge is stored of subscription fulfil") {
		t.Errorf("before: %q", got)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.point("fulfil", "charge", false)
		t.Error("the handler goes on after its crash")
	}()
	<-c.wait()
	if got := c.missed(); !strings.Contains(got, "a handler waits for its crash: call Deliver, Advance or Drain") {
		t.Errorf("meanwhile: %q", got)
	}
	c.end()
	<-done
	if got := c.missed(); got != "" || c.isDue() {
		t.Errorf("after the crash: %q", got)
	}
	c.point("fulfil", "charge", false) // does not wait again
}
