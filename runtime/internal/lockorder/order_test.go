//go:build lockorder

package lockorder

import (
	"strings"
	"testing"
)

func TestALockThatIsTakenAgainstTheOrderPanicsWithBothNames(t *testing.T) {
	var first Mutex[Attempt]
	var second Mutex[Queue]
	second.Lock()
	defer second.Unlock()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "an attempt") || !strings.Contains(text, "the queue") {
			t.Errorf("it says %q", text)
		}
	}()
	first.Lock()
}

func TestLocksInTheirOrderAndThoseOfOtherGoroutinesDoNotPanic(t *testing.T) {
	var first, another Mutex[Attempt]
	var second Mutex[Queue]
	second.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		first.Lock()
		another.Lock()
		another.Unlock()
		first.Unlock()
	}()
	<-done
	second.Unlock()
	first.Lock()
	second.Lock()
	second.Unlock()
	first.Unlock()
}
