package view

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// Names returns all names of a type, by the one under which its events are stored.
type Names func(written string) []string

// matchesAny reports whether one of the globs matches a type, by any of its names.
func (names Names) matchesAny(globs []string, written string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := typenames.MatchesAny(glob, names(written))
		return ok && err == nil
	})
}

// Matches reports whether an event, whose texts besides the payload are given, is one of those
// that a filter chooses. It does not look at times, states and subscriptions. Without types the filter
// chooses no events of the bus's own, unless it names them or their subscription or parent.
func Matches(f engine.Filter, r *engine.Record, names Names, texts []string) bool {
	if len(f.Types) == 0 && engine.IsOwn(r.Type) && f.Keys == nil && f.Subscriptions == nil && f.ChildOf == uuid.Nil {
		return false
	}
	return MatchesLetter(f, r, names, texts)
}

// MatchesLetter is Matches for the event of a dead letter, which may be one of the bus's own in any case.
func MatchesLetter(f engine.Filter, r *engine.Record, names Names, texts []string) bool {
	finds := func(part, text string) bool { return strings.Contains(part, text) }
	if sees := f.Sight; sees != nil {
		finds = func(part, text string) bool { return sees(r.Type, r.Version, r.Payload, []byte(part), text) }
	}
	contains := func(part string) bool { return finds(part, f.Text) }
	correlation := engine.LineageOf(r.Metadata).CorrelationID
	switch {
	case len(f.Types) > 0 && !names.matchesAny(f.Types, r.Type),
		len(f.Events) > 0 && !slices.Contains(f.Events, r.ID),
		f.CorrelationID != "" && (f.CorrelationID != correlation || !finds(correlation, f.CorrelationID)),
		f.ChildOf != uuid.Nil && f.ChildOf != engine.LineageOf(r.Metadata).ParentID,
		f.Text != "" && !contains(string(r.Payload)) && !slices.ContainsFunc(texts, contains):
		return false
	}
	return true
}

// Within reports whether a time is at since or later and before until; zero for no bound.
func Within(at, since, until time.Time) bool {
	return !at.Before(since) && (until.IsZero() || at.Before(until))
}

// Page returns a page of items in the order of their places, the highest first unless
// ascending, and the cursor of the next one. A place has so many numbers.
func Page[T any](p event.Page, items []T, numbers int, place func(T) []int64, ascending bool) ([]T, string, error) {
	p, err := engine.CompletePage(p)
	if err != nil {
		return nil, "", err
	}
	after, err := engine.PlaceOf(p, numbers)
	if err != nil {
		return nil, "", err
	}
	compare := func(a, b []int64) int {
		if ascending {
			return slices.Compare(a, b)
		}
		return slices.Compare(b, a)
	}
	if after != nil {
		items = slices.DeleteFunc(items, func(one T) bool { return compare(place(one), after) <= 0 })
	}
	slices.SortFunc(items, func(a, b T) int { return compare(place(a), place(b)) })
	items = items[min(p.Offset, len(items)):]
	items, cursor := engine.CutPage(p, items[:min(p.Limit+1, len(items))], place)
	return items, cursor, nil
}

// BeginsWith reports whether an id begins with hexadecimal digits, each from 0 to 15.
func BeginsWith(id uuid.UUID, digits []byte) bool {
	for i, digit := range digits {
		half := id[i/2] >> 4
		if i%2 == 1 {
			half = id[i/2] & 15
		}
		if half != digit {
			return false
		}
	}
	return true
}
