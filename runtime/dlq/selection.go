package dlq

import (
	"errors"
	"fmt"
	"time"
)

// Selection says which dead letters to change, and how fast. The zero value is
// all of them, as fast as publishers are not held up.
type Selection struct {
	Filter Filter
	Limit  int     // change at most this many, those that died first; 0 for no limit
	Rate   float64 // change at most this many per second; 0 for no limit
	DryRun bool    // change nothing, and count only
	// Canary makes [Inspector.Retry] retry so many first, and go on only when all
	// of them were handled. Letters whose last attempt has ended the process are not
	// among these, unless Filter.Reasons has crash. 0 for none.
	Canary int
	// Progress is called after every step with what was done until then, by the
	// goroutine that waits for it. Nil for nobody.
	Progress func(Counts)
}

// Only selects the dead letters of the given keys.
func Only(keys ...Key) Selection { return Selection{Filter: Filter{Keys: keys}} }

// Counts says what became of dead letters that were selected.
type Counts struct {
	Matched int `json:"matched"` // were there when it began
	Moved   int `json:"moved"`   // were changed: they are no dead letters any more
	// Skipped are keys that named no dead letter when it began, and letters that
	// were gone when it was their turn.
	Skipped int `json:"skipped"`
}

// check refuses what cannot be meant.
func (s Selection) check() error {
	var problems []error
	if s.Limit < 0 {
		problems = append(problems, fmt.Errorf("limit %d is negative", s.Limit))
	}
	if !(s.Rate >= 0) {
		problems = append(problems, fmt.Errorf("rate %v is negative", s.Rate))
	}
	if s.Canary < 0 {
		problems = append(problems, fmt.Errorf("canary %d is negative", s.Canary))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("selection of dead letters: %w", err)
	}
	return nil
}

const (
	// stepLetters is how many letters one transaction changes at most. It takes
	// a few milliseconds, which is what a publisher may have to wait for it.
	stepLetters = 100
	// stepPause lets publishers in between two transactions.
	stepPause = 10 * time.Millisecond
)

// pace returns how many letters a step changes, and how long to wait after it.
// At a rate there are ten steps a second, or fewer with one letter each.
func (s Selection) pace() (letters int, pause time.Duration) {
	if s.Rate == 0 {
		return stepLetters, stepPause
	}
	letters = int(min(max(s.Rate/10, 1), stepLetters))
	seconds := float64(letters) / s.Rate
	return letters, time.Duration(min(seconds, (24*time.Hour).Seconds()) * float64(time.Second))
}
