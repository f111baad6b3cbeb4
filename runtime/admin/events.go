package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// DefaultLimit is how many events [File.Events] returns when the page does not
// say.
const DefaultLimit = 100

// The statuses of an event: those of its deliveries rolled up.
const (
	Processing = "processing" // a handler is known to run
	Pending    = "pending"    // some subscription has yet to settle it
	DLQ        = "dlq"        // some subscription has given it up, and the others have settled it
	Done       = "done"       // settled by all
)

// Statuses returns the statuses of events.
func Statuses() []string { return []string{Pending, Processing, Done, DLQ} }

// Filter chooses events. Its zero value chooses all but those of the bus
// itself, whose types begin with $; they are chosen by name only.
type Filter struct {
	Types  []string // names or globs; any of them
	Status string   // one of the statuses
	// Since and Until bound the publication: at Since or later, before Until. An
	// event of a publisher whose clock is an hour behind that of the others may
	// be missed.
	Since, Until  time.Time
	Text          string // is in the payload, the metadata or the error of an attempt, letter by letter
	CorrelationID string
}

// Page chooses a part of a list. The zero value is its beginning.
type Page struct {
	Limit int    // 0 for [DefaultLimit]
	After string // where the page before ended: [Events].Next
}

// Events is a page of a list.
type Events struct {
	Events []Event
	Next   string // for [Page].After; empty if there are no more
}

// Event is one event with the state of its deliveries rolled up. Its JSON is
// what "busgen events list --json" prints.
type Event struct {
	ID            uuid.UUID       `json:"id"`
	Type          string          `json:"type"`
	Version       int             `json:"version"` // of the payload
	Status        string          `json:"status"`
	PublishedAt   time.Time       `json:"published_at"`             // UTC
	Due           time.Time       `json:"due_at,omitzero"`          // of a delayed event; UTC
	Failures      int             `json:"failures"`                 // the most failed attempts of a subscription since it was last redriven
	CorrelationID string          `json:"correlation_id,omitempty"` // part of Metadata
	Payload       json.RawMessage `json:"payload"`                  // as stored
	Metadata      json.RawMessage `json:"metadata,omitempty"`       // a JSON object of strings; nil without
}

// Events returns events, the newest first: the order of the log, backwards. What
// is published while one goes from page to page is not on the later ones.
func (f *File) Events(ctx context.Context, filter Filter, page Page) (Events, error) {
	query, err := filter.query(page)
	if err != nil {
		return Events{}, fmt.Errorf("list events: %w", err)
	}
	limit := query.Limit
	query.Limit++ // to know whether there are more
	var found Events
	err = f.use(func(a *sqlite.Admin) error {
		lines, err := a.Events(ctx, query)
		if len(lines) > limit {
			lines = lines[:limit]
			found.Next = strconv.FormatInt(lines[limit-1].Seq, 36)
		}
		for _, line := range lines {
			found.Events = append(found.Events, eventOf(line))
		}
		return err
	})
	return found, err
}

// String describes the filter in words, as the audit has it.
func (f Filter) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	add("type", strings.Join(f.Types, " or "))
	add("status", f.Status)
	if !f.Since.IsZero() {
		add("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if !f.Until.IsZero() {
		add("until", f.Until.UTC().Format(time.RFC3339Nano))
	}
	if f.Text != "" {
		add("text", strconv.Quote(f.Text))
	}
	add("correlation", f.CorrelationID)
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ", ")
}

// query puts a filter into the words of the engine.
func (f Filter) query(page Page) (query sqlite.EventFilter, err error) {
	for _, one := range f.Types {
		if _, err := glob.Parse(strings.TrimPrefix(one, string(engine.OwnType))); err != nil {
			return query, err
		}
	}
	if f.Status != "" && !slices.Contains(Statuses(), f.Status) {
		return query, fmt.Errorf("there is no status %q: use one of %s", f.Status, strings.Join(Statuses(), ", "))
	}
	query = sqlite.EventFilter{
		Types: f.Types, Status: f.Status, Since: f.Since, Until: f.Until, Text: f.Text, CorrelationID: f.CorrelationID,
	}
	if query.Limit, query.Before, err = page.numbers(); err != nil {
		return query, err
	}
	return query, nil
}

func eventOf(line sqlite.EventLine) Event {
	e := Event{
		ID: line.ID, Type: line.Type, Version: line.Version, Status: line.Status, PublishedAt: line.CreatedAt, Due: line.Due,
		Failures: line.Failures, Payload: line.Payload, Metadata: line.Metadata,
	}
	var metadata struct {
		CorrelationID string `json:"correlation_id"`
	}
	if len(line.Metadata) > 0 && json.Unmarshal(line.Metadata, &metadata) == nil {
		e.CorrelationID = metadata.CorrelationID
	}
	return e
}
