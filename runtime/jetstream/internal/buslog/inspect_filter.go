package buslog

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// errorsOf returns the errors of all attempts at an event.
func (l *Log) errorsOf(r *engine.Record) (texts []string) {
	for _, s := range l.inOrder() {
		if row := s.rows[r.Seq]; row != nil {
			for _, a := range row.Attempts {
				texts = append(texts, a.Error)
			}
		}
	}
	return append(texts, string(r.Metadata))
}

// matches reports whether an event, whose texts besides the payload are given, is one of
// those that the filter chooses.
func (l *Log) matches(f engine.Filter, r *engine.Record, texts []string) bool {
	typed := func(glob string) bool {
		ok, err := typenames.MatchesAny(glob, l.registry.namesOf(r.Type))
		return ok && err == nil
	}
	contains := func(text string) bool { return strings.Contains(text, f.Text) }
	switch {
	case len(f.Types) == 0 && r.Type[0] == engine.OwnType && f.Keys == nil && f.Subscriptions == nil && f.ChildOf == uuid.Nil:
		return false
	case len(f.Types) > 0 && !slices.ContainsFunc(f.Types, typed),
		len(f.Events) > 0 && !slices.Contains(f.Events, r.ID),
		f.CorrelationID != "" && f.CorrelationID != engine.LineageOf(r.Metadata).CorrelationID,
		f.ChildOf != uuid.Nil && f.ChildOf != engine.LineageOf(r.Metadata).ParentID,
		!bytes.Contains(r.Payload, []byte(f.Text)) && !slices.ContainsFunc(texts, contains):
		return false
	}
	return true
}

// within reports whether a time is at since or later and before until; zero for no bound.
func within(at, since, until time.Time) bool {
	return !at.Before(since) && (until.IsZero() || at.Before(until))
}

// paged returns a page of items in the order of their places, the highest first unless
// ascending.
func paged[T any](p engine.Page, items []T, numbers int, place func(T) []int64, ascending bool) ([]T, string, error) {
	p, err := p.Complete()
	if err != nil {
		return nil, "", err
	}
	after, err := p.Place(numbers)
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
