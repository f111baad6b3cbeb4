package dlq

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/fingerprint"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Group is dead letters that failed in the same way: for the same reason, with
// an error of the same type, the same message once what differs from event to
// event is taken out of it, and a panic in the same function. Whose events they
// are does not matter.
type Group struct {
	Fingerprint   string    `json:"fingerprint"` // for [Filter.Group]
	Reason        string    `json:"reason"`
	ErrorType     string    `json:"error_type,omitempty"` // of the last attempt
	Message       string    `json:"message"`              // of the last attempt, with placeholders: <id>, <n>, <time>, <addr>, <text>
	Types         []string  `json:"types"`
	Subscriptions []string  `json:"subscriptions"`
	Count         int       `json:"count"`
	First         time.Time `json:"first"`  // when the first one died; UTC
	Last          time.Time `json:"last"`   // when the last one died; UTC
	Sample        Key       `json:"sample"` // the last one
}

// GroupNames returns the fingerprints of the groups that begin with prefix, in
// alphabetical order: all of them for an empty one. It is much cheaper than
// [Inspector.Groups].
func (i *Inspector) GroupNames(ctx context.Context, prefix string) (names []string, err error) {
	err = i.use(func(d *sqlite.DeadLetters) error {
		names, err = d.GroupNames(ctx, prefix)
		return err
	})
	return names, err
}

// Groups returns the kinds of failures among the dead letters, the most
// frequent first.
func (i *Inspector) Groups(ctx context.Context, f Filter) ([]Group, error) {
	filter, err := f.stored()
	if err != nil {
		return nil, err
	}
	var found []sqlite.LetterGroup
	err = i.use(func(d *sqlite.DeadLetters) error {
		found, err = d.Groups(ctx, filter)
		return err
	})
	groups := make([]Group, len(found))
	for i, g := range found {
		sample := letterOf(g.Newest)
		groups[i] = Group{
			Fingerprint: g.Fingerprint, Reason: sample.Reason,
			ErrorType: sample.last().ErrorType, Message: fingerprint.Normalize(sample.LastError()),
			Types: g.Types, Subscriptions: g.Subscriptions, Count: g.Count, First: g.First, Last: g.Last, Sample: sample.Key,
		}
	}
	return groups, err
}
