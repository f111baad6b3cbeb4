package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Letter is a dead letter that is to be grouped.
type Letter struct {
	Fingerprint        string
	Type, Subscription string // as the log calls them now
	Died               time.Time
	Place              []int64 // orders letters by when they died
	Whole              func() event.DeadLetter
}

// FailureGroups groups dead letters by their fingerprint, the largest group first. The newest
// letter of a group speaks for all.
func FailureGroups(letters []Letter) (groups []event.FailureGroup) {
	members := map[string][]Letter{}
	for _, one := range letters {
		members[one.Fingerprint] = append(members[one.Fingerprint], one)
	}
	for _, all := range members {
		groups = append(groups, groupOf(all))
	}
	slices.SortFunc(groups, func(a, b event.FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return groups
}

// groupOf returns what dead letters of the same fingerprint have in common.
func groupOf(all []Letter) event.FailureGroup {
	byPlace := func(a, b Letter) int { return slices.Compare(a.Place, b.Place) }
	oldest, newest := slices.MinFunc(all, byPlace), slices.MaxFunc(all, byPlace).Whole()
	last := newest.LastAttempt()
	g := event.FailureGroup{
		Fingerprint: newest.Fingerprint, Count: len(all), First: oldest.Died.UTC(), Last: newest.DeadAt,
		Reason: newest.Reason, ErrorType: last.ErrorType, Message: last.Error, Sample: newest.Key,
	}
	types, subscriptions := map[string]bool{}, map[string]bool{}
	for _, one := range all {
		types[one.Type], subscriptions[one.Subscription] = true, true
	}
	g.Types, g.Subscriptions = sorted(types), sorted(subscriptions)
	return g
}

// GroupNames returns the fingerprints of dead letters that begin with a prefix, in
// alphabetical order.
func GroupNames(letters []Letter, prefix string) []string {
	names := map[string]bool{}
	for _, one := range letters {
		if strings.HasPrefix(one.Fingerprint, prefix) {
			names[one.Fingerprint] = true
		}
	}
	return sorted(names)
}

func sorted(set map[string]bool) (names []string) {
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
