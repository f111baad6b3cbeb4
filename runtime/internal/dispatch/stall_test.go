package dispatch

import (
	"testing"
	"testing/synctest"
)

func TestALookThatWasDueBeforeAWorkerBeganToWaitSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w stallWatch
		w.init()
		defer w.stop()
		w.wait(false)
		<-w.looks
		if !w.waited() {
			t.Error("a worker that has waited all the time is not said to have waited")
		}
		w.wait(true)
		<-w.looks
		if !w.waited() {
			t.Error("a worker that has only looked is not said to have waited")
		}
		w.wait(false)
		if w.waited() {
			t.Error("a worker that has just begun to wait is said to have waited")
		}
	})
}
