package buslog

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// FailureGroups implements [engine.DeadLetterReader].
func (in *Inspection) FailureGroups(ctx context.Context, f engine.Filter) ([]engine.FailureGroup, error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	members := map[string][]letter{}
	for _, one := range in.letters(f) {
		members[one.Fingerprint] = append(members[one.Fingerprint], one)
	}
	var groups []engine.FailureGroup
	for _, all := range members {
		groups = append(groups, in.groupOf(all))
	}
	slices.SortFunc(groups, func(a, b engine.FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return groups, nil
}

// groupOf returns what dead letters of the same fingerprint have in common. The newest one
// speaks for all.
func (l *Log) groupOf(all []letter) engine.FailureGroup {
	slices.SortFunc(all, func(a, b letter) int { return slices.Compare(a.place(), b.place()) })
	newest := all[len(all)-1]
	one := l.deadLetter(newest)
	last := one.LastAttempt()
	g := engine.FailureGroup{
		Fingerprint: one.Fingerprint, Count: len(all), First: all[0].Died.UTC(), Last: one.DeadAt,
		Reason: one.Reason, ErrorType: last.ErrorType, Message: last.Error, Sample: one.Key,
	}
	for _, member := range all {
		g.Types = append(g.Types, l.registry.nameOf(member.Type))
		g.Subscriptions = append(g.Subscriptions, member.sub.Name)
	}
	for _, names := range []*[]string{&g.Types, &g.Subscriptions} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return g
}

// FailureGroupNames implements [engine.DeadLetterReader].
func (in *Inspection) FailureGroupNames(ctx context.Context, prefix string) (names []string, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	for _, one := range in.letters(engine.Filter{}) {
		if strings.HasPrefix(one.Fingerprint, prefix) {
			names = append(names, one.Fingerprint)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
