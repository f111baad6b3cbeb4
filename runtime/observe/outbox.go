package observe

import "time"

// Outbox says what a bus has brought to itself from an outbox in the database of the program: see package postgres of
// the nested module runtime/postgres.
type Outbox struct {
	Relaying bool   `json:"relaying"` // this process does it; else another one, or none
	Relayed  uint64 `json:"relayed"`  // events that this process has brought
	// Oldest is since when the oldest event waits that the last look has found and not brought; zero for none.
	Oldest time.Time `json:"oldest,omitzero"`
	// Failing is the error of the last look, and Since when the first of those was that have failed in a row; empty if it
	// has not failed.
	Failing string    `json:"failing,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Waiting returns for how long events have been waiting at a time, or the outbox could not be looked into.
func (o Outbox) Waiting(now time.Time) (age time.Duration) {
	for _, since := range []time.Time{o.Oldest, o.Since} {
		if !since.IsZero() {
			age = max(age, now.Sub(since))
		}
	}
	return age
}
