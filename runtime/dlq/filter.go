package dlq

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Filter chooses dead letters: those to which everything that is set applies.
// The zero value chooses all of them.
type Filter struct {
	Types         []string  // globs over event types, one of which matches: order.*
	Subscriptions []string  // names, one of which it is
	Reasons       []string  // max_attempts, permanent, decode, crash, expired, max_snoozes
	Keys          []Key     // one of which it is
	Group         string    // the fingerprint of a [Group]
	Text          string    // is in the payload or in the error of an attempt, in the same case
	CorrelationID string    // of the event
	Since         time.Time // when it died, or later
	Until         time.Time // when it died, or earlier
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
	add("subscription", strings.Join(f.Subscriptions, " or "))
	add("reason", strings.Join(f.Reasons, " or "))
	if len(f.Keys) == 1 {
		add("dead letter", f.Keys[0].String())
	} else if len(f.Keys) > 1 {
		add("one of", fmt.Sprint(len(f.Keys), " given dead letters"))
	}
	add("group", f.Group)
	if f.Text != "" {
		add("text", fmt.Sprintf("%q", f.Text))
	}
	add("correlation", f.CorrelationID)
	if !f.Since.IsZero() {
		add("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if !f.Until.IsZero() {
		add("until", f.Until.UTC().Format(time.RFC3339Nano))
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ", ")
}

// Reasons returns the reasons of dead letters.
func Reasons() []string { return engine.Reasons() }

// stored checks the filter for what could not match anything.
func (f Filter) stored() (sqlite.LetterFilter, error) {
	for _, one := range f.Types {
		if strings.HasPrefix(one, string(engine.OwnType)) { // the type itself
			continue
		}
		if _, err := glob.Parse(one); err != nil {
			return sqlite.LetterFilter{}, fmt.Errorf("filter of dead letters: type %w", err)
		}
	}
	for _, reason := range f.Reasons {
		if !slices.Contains(engine.Reasons(), reason) {
			return sqlite.LetterFilter{}, fmt.Errorf("filter of dead letters: %q is not a reason; it is one of %s",
				reason, strings.Join(engine.Reasons(), ", "))
		}
	}
	stored := sqlite.LetterFilter{
		Types: f.Types, Subscriptions: f.Subscriptions, Reasons: f.Reasons, Fingerprint: f.Group, Text: f.Text, CorrelationID: f.CorrelationID,
		Since: f.Since, Until: f.Until,
	}
	for _, key := range f.Keys {
		stored.Keys = append(stored.Keys, key.stored())
	}
	return stored, nil
}
