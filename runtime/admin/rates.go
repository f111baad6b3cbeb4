package admin

import "github.com/busgen/busgen/runtime/internal/sqlite"

// Mark is where a file stood at a look. The rates of the next look are measured
// from it. The zero Mark is no look.
type Mark struct {
	mark sqlite.Mark
}

// Rates is how fast a bus has worked between two looks.
type Rates struct {
	Seconds   float64 `json:"seconds"`   // between the looks
	Published float64 `json:"published"` // events per second, those of the bus itself included
}

// SubscriptionRates is how fast a subscription has worked between two looks. All but
// DrainedIn are per second.
type SubscriptionRates struct {
	Published float64 `json:"published"` // events for it
	// Handled are deliveries that have ended and are no dead letters. Dead letters that
	// an operator has discarded or purged are among them.
	Handled float64 `json:"handled"`
	Dead    float64 `json:"dead"` // deliveries that became dead letters
	// DrainedIn is how many seconds it takes until the backlog is empty if it goes on
	// shrinking as it did: 0 if it is empty, nil if it does not shrink. Where
	// counting has stopped it is the time to go through the rest of the log.
	DrainedIn *float64 `json:"drained_in"`
}

// measure takes over what has happened since an earlier look.
func (s *Status) measure(done *sqlite.Progress) {
	if done == nil || done.Elapsed <= 0 {
		return
	}
	seconds := done.Elapsed.Seconds()
	s.Rates = &Rates{Seconds: seconds, Published: float64(done.Published) / seconds}
	for i, of := range done.Of {
		if !of.Known {
			continue
		}
		rates := &SubscriptionRates{
			Published: float64(of.Published) / seconds, Handled: float64(of.Handled) / seconds, Dead: float64(of.Dead) / seconds,
		}
		if left := s.Subscriptions[i].BacklogAtMost; left == 0 || of.Shrunk > 0 {
			drained := 0.0
			if left > 0 {
				drained = float64(left) * seconds / float64(of.Shrunk)
			}
			rates.DrainedIn = &drained
		}
		s.Subscriptions[i].Rates = rates
	}
}
