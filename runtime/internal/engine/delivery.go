package engine

import (
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Delivery is one event on its way to one subscription.
type Delivery struct {
	*Record      // shared with other consumers, so never changed
	Failures int // attempts that count against max_attempts
	// Uncounted is how many executions may have happened beside those: they were
	// interrupted or snoozed, they ended with the process while others ran too, or
	// they succeeded and the process died before that was written. Attempts before
	// the dead delivery was retried are among them.
	Uncounted int
	// MaxAttempts is that of the policy for the class of the last error; 0 if
	// there was none and the subscription's policy holds.
	MaxAttempts int
	// Crashed says that the last attempt that counted ended with the process.
	Crashed bool
	// Suspect says that the process died while the handler ran, and that it has
	// not ended otherwise since. Nothing may run beside it.
	Suspect bool
	// Replayed says that the subscription had handled the event before: somebody has
	// replayed it.
	Replayed bool
	// Exempt says that no strict order waits for it: its event was delayed or made by an edit, or it was
	// dead and was retried, or it is express.
	Exempt bool
	// Together is how many suspects a batch may have that this one is in: half as many as
	// ran at once when the process died. It is at least 1 for a suspect, and 0 for others.
	Together int32
	// Undoing says that the steps of the run are to be undone: the handler is called for that only.
	Undoing bool
	// Run is how often the delivery has begun from its start: a replay begins the next one, which finds no steps.
	Run int32
	// Since is when the delivery began: when its event was published or due, or
	// when the dead delivery was last retried by hand.
	Since time.Time
	// Held is since when the delivery has been held because no program has taken over that can
	// read its version; nil for one that is not.
	Held *time.Time
	// Progress is what the last disposition has said about a delivery in parts.
	Progress string
	// Waitlist is where the delivery was parked last; empty if it has had a turn since.
	Waitlist string
	// Snoozes is how often its handler has put it off since it was new or last
	// retried by hand.
	Snoozes int

	Token any // the engine's own
}

// CrashText is the error of an attempt that ended with its process.
const CrashText = "the process ended while the handler was running"

// Kinds returns all ways in which an attempt can fail.
func Kinds() []string {
	return []string{event.KindError, event.KindPanic, event.KindExit, event.KindTimeout, event.KindDecode, event.KindCrash, event.KindInterrupted}
}
