package inspect

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Selection chooses the deliveries that a method changes, and the speed. The zero value
// chooses all that the method can change, in small steps with pauses for publishers.
type Selection struct {
	Filter event.Filter
	// From is the event of the log with which [File.Replay] begins: it is replayed, and those
	// behind it. The zero id is the oldest event.
	From   uuid.UUID
	Limit  int     // change at most this many, the oldest; 0 for no limit
	Rate   float64 // change at most this many per second; 0 for no limit
	DryRun bool    // change nothing, and count only
	// Canary is how many dead letters [File.Retry] retries first. It goes on only when all
	// of them were handled. Dead letters whose last attempt has ended the process are not
	// among these, unless Filter.Reasons has crash. 0 for none.
	Canary int
	// Forget is a step (package step) that [File.Retry] has done again, and FromStep one that it has done again with all that
	// were stored after it. Only dead letters that have stored it in their last run are retried. FromStart begins the next
	// run: all is done again, by all members of a group. It is the only way for a dead letter whose steps are undone, or are to be. At
	// most one of the three is set; without, the handler goes on behind its last step.
	Forget, FromStep string
	FromStart        bool
	// Note is kept with the entry in the audit, behind the words of the filter. A program
	// can find its own work by it, and go on after it was killed. It may be empty.
	Note string
	// Progress is called after every step with the counts so far, on the goroutine that
	// called the method. It may be nil.
	Progress func(Counts)
}

// String says in words which deliveries are selected, as the audit does.
func (s Selection) String() string {
	return engine.SweepSpec{Filter: engine.Filter{Filter: s.Filter}, From: s.From, Again: s.again()}.InWords()
}

// Only selects the dead letters of the given keys.
func Only(keys ...event.Key) Selection { return Selection{Filter: event.Filter{Keys: keys}} }

// Counts counts the selected deliveries by what happened to them.
type Counts struct {
	Matched int `json:"matched"` // how many there were when it began
	Moved   int `json:"moved"`   // how many were changed; of a replay it may be more than Matched
	// Skipped counts keys that named no dead letter when the method began, and deliveries
	// that no longer matched when it was their turn.
	Skipped int `json:"skipped"`
}

// again says which steps are done again.
func (s Selection) again() engine.Again {
	return engine.Again{Forget: s.Forget, From: s.FromStep, Start: s.FromStart}
}

// check returns an error if a sweep of the kind cannot do what s asks for.
func (s Selection) check(kind engine.SweepKind) error {
	what, filter := string(kind)+" dead letters", checkDeadLetters
	switch kind {
	case engine.SweepReplay:
		what, filter = "replay events", checkEvents
	case engine.SweepTryNow:
		what, filter = "try retries now", checkWaiting
	}
	switch {
	case s.Limit < 0:
		return fmt.Errorf("%s: limit %d is negative", what, s.Limit)
	case !(s.Rate >= 0): // NaN too
		return fmt.Errorf("%s: rate %v is negative", what, s.Rate)
	case s.Canary < 0:
		return fmt.Errorf("%s: canary %d is negative", what, s.Canary)
	case s.From != uuid.Nil && kind != engine.SweepReplay:
		return fmt.Errorf("%s: From is for replaying only", what)
	case s.again() != (engine.Again{}) && kind != engine.SweepRetry:
		return fmt.Errorf("%s: only a retry has steps done again", what)
	case s.Forget != "" && s.FromStep != "" || s.FromStart && s.again().Step() != "":
		return fmt.Errorf("%s: say one of Forget, FromStep and FromStart", what)
	case s.Canary > 0 && kind != engine.SweepRetry:
		return fmt.Errorf("%s: a canary is for retrying only", what)
	}
	return filter(s.Filter)
}

// stepSize is how many deliveries one transaction changes at most. It takes a few
// milliseconds, for which a publisher may have to wait.
const stepSize = 100

// pace returns how many deliveries a step changes, and how long to wait after it, for the rate. At a rate there are ten steps a second, or fewer with one delivery each.
func (s Selection) pace() (size int, pause time.Duration) {
	if s.Rate == 0 {
		return stepSize, 0
	}
	size = int(min(max(s.Rate/10, 1), stepSize))
	seconds := float64(size) / s.Rate
	return size, time.Duration(min(seconds, (24*time.Hour).Seconds()) * float64(time.Second))
}
