package runtime

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Query chooses events of one type for [Find] and [Await]: those to which everything
// that is set applies. The zero value chooses all.
type Query struct {
	// Since and Until bound when an event was published: at Since or later, and before
	// Until. A publisher whose clock is an hour behind the clocks of others may be missed.
	Since, Until time.Time
	// Status is pending, processing, done or dlq, as "busgen events list" shows it: the
	// states of the event's deliveries taken together, at the moment of the look.
	Status        string
	CorrelationID string    // that of [WithCorrelationID], or inherited from the event whose handler published it
	ChildOf       uuid.UUID // the id of the event whose handler published it
	// Limit is how many events Find yields at most, matched ones only; 0 for no limit.
	Limit int
}

// QueryError says which part of a [Query] cannot be used. Nothing was read.
type QueryError struct {
	EventType string
	Field     string // of the Query: Status, or match for the function
	Problem   string
}

// Error names the event type and the field.
func (e *QueryError) Error() string {
	return fmt.Sprintf("query of %s events: %s: %s", e.EventType, e.Field, e.Problem)
}

// problem returns what no query may have.
func (q Query) problem(eventType string) error {
	switch {
	case q.Status != "" && !slices.Contains(engine.Statuses(), q.Status):
		return &QueryError{eventType, "Status", fmt.Sprintf("there is no status %q: use one of %s", q.Status, strings.Join(engine.Statuses(), ", "))}
	case q.Limit < 0:
		return &QueryError{eventType, "Limit", fmt.Sprintf("it is %d; 0 stands for no limit", q.Limit)}
	}
	return nil
}

// EventError says that an event in the log cannot be shown to the program: its payload
// cannot be decoded, or a function that looked at it has panicked. The event is as it
// was.
type EventError struct {
	ID        uuid.UUID
	EventType string
	Err       error // a *[PanicError] if the function has panicked
}

// Error names the event.
func (e *EventError) Error() string {
	return fmt.Sprintf("event %s of type %s: %v", e.ID, e.EventType, e.Err)
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }

// stored makes the event of a record that no handler has been given. Its payload is what payload points to.
func (t *eventType) stored(r *engine.Record) (e untyped, err error) {
	payload := reflect.New(t.of).Interface()
	if err := t.parse(r, payload); err != nil {
		return untyped{}, &EventError{r.ID, t.Name(), err}
	}
	h := Head{ID: r.ID, Type: t.Name(), Version: r.Version, PublishedAt: r.CreatedAt.UTC()}
	setLineage(&h, r.Metadata)
	return untyped{h, payload}, nil
}

// matched calls functions of the program, all of which have to agree. A panic is an
// *EventError.
func matched[T any](e Event[T], match []func(Event[T]) bool) (ok bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			ok, err = false, &EventError{e.ID, e.Type, fmt.Errorf("the match function has panicked: %w", newPanicError(cause))}
		}
	}()
	for _, f := range match {
		if !f(e) {
			return false, nil
		}
	}
	return true, nil
}
