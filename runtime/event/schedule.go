package event

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Schedule is where a schedule of the catalogue stands. Rule is its times, as JSON in the
// words of the catalogue: cron and time_zone, or every, and missed.
type Schedule struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"`   // of its events
	Rule   json.RawMessage `json:"rule"`   // its times, in the words of the catalogue
	Since  time.Time       `json:"since"`  // when it was first declared; UTC
	Passed time.Time       `json:"passed"` // times up to this are published or were skipped; UTC
	Event  uuid.UUID       `json:"event"`  // the last one; zero for none
	At     time.Time       `json:"at"`     // the time that Event is for; UTC, zero for none
}
