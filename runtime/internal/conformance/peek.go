package conformance

import (
	"slices"
	"testing"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// peek shows a file from outside, as an operator sees it.
type peek struct {
	t    *testing.T
	file *inspect.File
}

// peekAt opens the file at path until the test ends.
func (env *Env) peekAt(t *testing.T, target string) peek {
	t.Helper()
	file, err := env.OpenFile(t.Context(), target)
	Must(t, err)
	t.Cleanup(func() { file.Close() })
	return peek{t, file}
}

func (f *Fixture) peek() peek {
	f.T.Helper()
	return f.Env.peekAt(f.T, f.Path)
}

// stored returns how many events the file holds, those of the bus itself included.
func (p peek) stored() int {
	p.t.Helper()
	status, err := p.file.Status(p.t.Context())
	Must(p.t, err)
	return status.Events
}

// events returns the events of these types, the oldest first. Without types it
// returns all but those of the bus itself.
func (p peek) events(types ...string) []event.Event {
	p.t.Helper()
	found, _, err := p.file.Events(p.t.Context(), event.Filter{Types: types}, event.Page{Limit: 10_000})
	Must(p.t, err)
	slices.Reverse(found)
	return found
}

// statuses returns the statuses of all events, the oldest first.
func (p peek) statuses() (all []string) {
	p.t.Helper()
	for _, e := range p.events() {
		all = append(all, e.Status)
	}
	return all
}

// deliveries returns the deliveries of all events, by event and subscription.
func (p peek) deliveries() (all []event.DeliveryState) {
	p.t.Helper()
	for _, e := range p.events() {
		history, err := p.file.Event(p.t.Context(), e.ID)
		Must(p.t, err)
		all = append(all, history.Deliveries...)
	}
	return all
}

// failures returns the failed attempts on record, by event and subscription.
func (p peek) failures() (all []event.FailedAttempt) {
	p.t.Helper()
	for _, d := range p.deliveries() {
		all = append(all, d.Attempts...)
	}
	return all
}

// subscriptions returns the names of the subscriptions, sorted.
func (p peek) subscriptions() (names []string) {
	p.t.Helper()
	all, err := p.file.Subscriptions(p.t.Context())
	Must(p.t, err)
	for _, s := range all {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// unhandled returns the subscriptions that have a backlog and, as the bus has noticed,
// no handler.
func (p peek) unhandled() (names []string) {
	p.t.Helper()
	status, err := p.file.Status(p.t.Context())
	Must(p.t, err)
	for _, s := range status.Subscriptions {
		if s.Unhandled {
			names = append(names, s.Name)
		}
	}
	return names
}

// audit returns what operators, and the bus itself, have done.
func (p peek) audit() []event.AuditEntry {
	p.t.Helper()
	found, _, err := p.file.Audit(p.t.Context(), event.AuditFilter{}, event.Page{})
	Must(p.t, err)
	return found
}

// Dead returns the dead letters of a file.
func (env *Env) Dead(t *testing.T, target string) (letters []event.DeadLetter) {
	t.Helper()
	inspector, err := env.OpenFile(t.Context(), target)
	Must(t, err)
	defer inspector.Close()
	letters, _, err = inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	return letters
}

// Letter returns the only dead letter of a file.
func (env *Env) Letter(t *testing.T, target string) event.DeadLetter {
	t.Helper()
	letters := env.Dead(t, target)
	if len(letters) != 1 {
		t.Fatalf("there are %d dead letters, want one", len(letters))
	}
	return letters[0]
}

// Redrive retries a dead letter by hand.
func (env *Env) Redrive(t *testing.T, target string, key event.Key) {
	t.Helper()
	i, err := env.OpenFile(t.Context(), target)
	Must(t, err)
	defer i.Close()
	_, err = i.Retry(t.Context(), inspect.Only(key))
	Must(t, err)
}
