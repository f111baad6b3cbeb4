package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// PauseAt returns where a pause is among others, or -1.
func PauseAt(pauses []engine.Pause, p engine.Pause) int {
	return slices.IndexFunc(pauses, func(other engine.Pause) bool {
		return other.Kind == p.Kind && other.Target == p.Target && other.Key == p.Key
	})
}

// TypePaused reports whether a type is paused, under any of its names.
func TypePaused(pauses []engine.Pause, names Names, written string) bool {
	return slices.ContainsFunc(pauses, func(p engine.Pause) bool {
		return p.Kind == engine.PauseType && names.matchesAny([]string{p.Target}, written)
	})
}

// PausesHere returns what is paused under the names of one process, in the order of time: here has
// its names of types, by the stored ones, and subscription returns its name of a subscription.
func PausesHere(stored []engine.Pause, types []typenames.Row, here map[string]string, subscription func(string) string) []engine.Pause {
	pauses, names := slices.Clone(stored), typenames.All(types)
	for i := range pauses {
		p := &pauses[i]
		if p.Kind == engine.PauseSubscription {
			p.Target = subscription(p.Target)
			continue
		}
		besides := map[string]bool{}
		for _, row := range types {
			itself, _ := typenames.Matches(p.Target, here[row.Written])
			if any, _ := typenames.MatchesAny(p.Target, names[row.Name]); any && !itself {
				besides[here[row.Written]] = true
			}
		}
		p.Besides = strings.Join(slices.Sorted(maps.Keys(besides)), " ")
	}
	slices.SortStableFunc(pauses, func(a, b engine.Pause) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Key, b.Key))
	})
	return pauses
}

// Wanted returns the types that one of the globs matches, by their stored names.
func Wanted(types []typenames.Row, globs []string, names Names) map[string]bool {
	wanted := map[string]bool{}
	for _, row := range types {
		wanted[row.Written] = names.matchesAny(globs, row.Written)
	}
	return wanted
}
