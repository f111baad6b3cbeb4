package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// A thousand subscriptions that a delayed event is not for do not all look for it when it is due.
func TestADelayedEventWakesItsOwnSubscriptions(t *testing.T) {
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
	must(t, err)
	defer log.Close()
	_, err = log.TakeOver(t.Context())
	must(t, err)
	consumers := map[string]*consumer{}
	for _, pattern := range []string{"order.*", "*", "user.*"} {
		one, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: pattern, Pattern: pattern})
		must(t, err)
		_, _, err = one.Poll(nil, 1)
		must(t, err)
		consumers[pattern] = one.(*consumer)
	}
	publish := func(eventType string, delay time.Duration) (due int64) {
		now := time.Now()
		e := engine.Record{ID: uuid.New(), Type: eventType, Payload: []byte("{}"), CreatedAt: now, Due: now.Add(delay)}
		must(t, log.Append(t.Context(), []engine.Record{e}))
		return e.Due.UnixMicro()
	}
	want := func(dues map[string]int64) {
		t.Helper()
		must(t, log.Flush(t.Context())) // the writer has told everyone
		for pattern, c := range consumers {
			c.mu.Lock()
			if c.nextDue != dues[pattern] {
				t.Errorf("%s looks at %d, want %d", pattern, c.nextDue, dues[pattern])
			}
			c.mu.Unlock()
		}
	}
	later := publish("order.placed", 2*time.Hour)
	want(map[string]int64{"order.*": later, "*": later, "user.*": never})
	sooner := publish("user.created", time.Hour)
	want(map[string]int64{"order.*": later, "*": sooner, "user.*": sooner})
}
