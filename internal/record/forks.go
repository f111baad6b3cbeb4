package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A fork is a version of an event, or a type, that two merged branches brought with different lines. Their common
// ancestor does not have it. What a stored event of it holds depends on the branch that stored it.
type fork struct {
	group string // as groupOf returns it
	sides [2][]Fact
}

// groupOf returns what the line of a field, a value or a variant describes: "order.placed 2" for a version of an
// event, "Money" for a type, and "" for other lines.
func groupOf(f Fact) string {
	if len(f.Words) > 3 && f.Words[0] == "event" && isVersion(f.Words[2]) {
		return f.Words[1] + " " + f.Words[2]
	}
	return typeOf(f)
}

// groupsOf returns the lines of each version of an event and of each type, also of versions without fields.
func groupsOf(facts []Fact) map[string][]Fact {
	groups := map[string][]Fact{}
	for _, f := range facts {
		if group := groupOf(f); group != "" {
			groups[group] = append(groups[group], f)
			continue
		}
		switch about := f.about(); {
		case about[0] != "event" || len(about) < 3:
		case about[2] == "version":
			groups[about[1]+" "+f.Value] = groups[about[1]+" "+f.Value]
		case about[2] == "history" && len(about) == 4:
			groups[about[1]+" "+about[3]] = groups[about[1]+" "+about[3]]
		case isRemovedVersion(about):
			groups[about[1]+" "+about[2]] = groups[about[1]+" "+about[2]]
		}
	}
	return groups
}

// forksOf finds the forks of two records with the common ancestor base, in the order of ours.
func forksOf(ours, theirs, base *Record) (all []fork) {
	inOurs, inTheirs, inBase := groupsOf(ours.facts), groupsOf(theirs.facts), groupsOf(base.facts)
	for group, a := range inOurs {
		_, known := inBase[group]
		b, shared := inTheirs[group]
		if one := (fork{group, [2][]Fact{a, b}}); shared && !known && len(one.differing()) > 0 {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b fork) int { return strings.Compare(a.group, b.group) })
	return all
}

// differing returns the lines that only one side has, for each of them in its order.
func (k fork) differing() []Fact {
	return slices.Concat(k.only(0), k.only(1))
}

func (k fork) only(side int) []Fact {
	other := map[string]bool{}
	for _, f := range k.sides[1-side] {
		other[f.String()] = true
	}
	return slices.DeleteFunc(slices.Clone(k.sides[side]), func(f Fact) bool { return other[f.String()] })
}

// key returns the key of the finding. It has the names of the fields that differ, so that accepting one fork does not
// accept the next.
func (k fork) key() string {
	var names []string
	for _, f := range k.differing() {
		names = append(names, strings.Join(k.within(f), "."))
	}
	slices.Sort(names)
	return forkKey(k.group) + strings.Join(slices.Compact(names), ",")
}

func forkKey(group string) string { return rules.MergedTwice.ID + " " + group + " " }

// within returns the words of a line behind the version or the type.
func (k fork) within(f Fact) []string {
	if f.Words[0] == "event" {
		return f.Words[3:]
	}
	return f.Words[2:]
}

// list shows the lines that only one side has.
func (k fork) list(side int) string {
	var texts []string
	for _, f := range k.only(side) {
		text := strings.Join(k.within(f), ".")
		if f.Value != "" {
			text += ": " + strings.Trim(f.Value, `"`)
		}
		texts = append(texts, text)
	}
	if len(texts) > maxListed {
		texts = append(texts[:maxListed], fmt.Sprintf("%d more", len(texts)-maxListed))
	}
	if len(texts) == 0 {
		return "without that"
	}
	return "with " + strings.Join(texts, ", ")
}

const maxListed = 4

// withGroup returns facts with other lines for one group.
func withGroup(facts []Fact, group string, lines []Fact) []Fact {
	others := slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return groupOf(f) == group })
	return append(others, lines...)
}

// settleForks reports each fork unless the catalogue reads the stored events of both sides. A catalogue that keeps the
// version of one side, and has given the event a later one, has chosen: that side counts.
func (r *comparison) settleForks(place func(diag.Position) diag.Place) error {
	for _, k := range r.before.forks {
		known, err := r.refusedIn(withGroup(r.now, k.group, r.present(k.group)))
		if err != nil {
			return err
		}
		var read []int
		for side, lines := range k.sides {
			found, err := r.refusedIn(withGroup(r.now, k.group, lines))
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(found, func(key string) bool { return !slices.Contains(known, key) }) {
				read = append(read, side)
			}
		}
		if len(read) == 2 {
			continue
		}
		f := r.forkFinding(k, place)
		if len(read) == 1 {
			r.now = withGroup(r.now, k.group, k.sides[read[0]])
			if e, version := r.versionOf(k.group); e != nil && version < e.Version.V {
				f = f.With(diag.Note)
				f.Hint = "its rows are read as those of the branch " + k.list(read[0])
				r.settled = append(r.settled, f.Key)
			}
		}
		r.findings = append(r.findings, f)
	}
	return nil
}

// present returns the lines that a group has in the catalogue, as if its event was not renamed.
func (r *comparison) present(group string) []Fact {
	name, version, _ := cutVersion(group)
	e := r.after.EventsByName()[name]
	if e == nil || e.Name.V == name {
		return groupsOf(r.facts)[group]
	}
	lines := slices.Clone(groupsOf(r.facts)[e.Name.V+" "+version])
	for i, f := range lines {
		lines[i].Words = slices.Clone(f.Words)
		lines[i].Words[1] = name
	}
	return lines
}

// cutVersion cuts a group into the name of an event and a version, if it is one.
func cutVersion(group string) (name, version string, ok bool) {
	i := strings.LastIndexByte(group, ' ')
	if i < 0 {
		return group, "", false
	}
	return group[:i], group[i+1:], true
}

// versionOf returns the event of a group and the version; nil if it is none of the catalogue.
func (r *comparison) versionOf(group string) (*catalog.Event, int) {
	name, version, _ := cutVersion(group)
	number, _ := strconv.Atoi(version)
	if number == 0 {
		return nil, 0
	}
	return r.after.EventsByName()[name], number
}

// refusedIn returns the keys of the findings that the catalogue would be refused for, if the record had these facts.
func (r *comparison) refusedIn(facts []Fact) (keys []string, err error) {
	for _, one := range variants(facts) {
		found, err := r.changesSince(r.read(one))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if Refused(f) {
				keys = append(keys, f.Key)
			}
		}
	}
	return keys, nil
}

func (r *comparison) forkFinding(k fork, place func(diag.Position) diag.Place) *diag.Finding {
	name, version, isVersion := cutVersion(k.group)
	what, at := "type "+name, r.after.Package.Pos
	hint := "give the type of one branch another name, or make optional what only one of them has"
	for _, t := range r.after.Types {
		if t.Name.V == name {
			at = t.Name.Pos
		}
	}
	if isVersion {
		what = "version " + version + " of event " + name
		hint = "keep the payload of the branch that was deployed first under history, as version " + version +
			", and give the event the next version; or make optional what only one branch has"
		if e, _ := r.versionOf(k.group); e != nil {
			if at = e.Name.Pos; e.Version.Written() {
				at = e.Version.Pos
			}
		}
	}
	f := rules.MergedTwice.At(place(at), "two merged branches brought %s, one %s, the other %s: in old rows the new program sees the zero value for what their branch did not know",
		what, k.list(0), k.list(1))
	f.Hint, f.Subject, f.Direction, f.Key = hint, name, diag.Backward, k.key()
	for _, a := range r.after.Accepted {
		if a.Key.V == f.Key {
			f.Severity, f.Hint = diag.Note, "accepted: "+strings.Join(strings.Fields(a.Reason.V), " ")
		}
	}
	for side := range k.sides {
		for _, line := range k.only(side)[:min(1, len(k.only(side)))] {
			f.See(diag.NewSource(r.before.readText).Place(line.NameAt), "it is here")
		}
	}
	return f
}

// withAcceptedForks returns the facts of an earlier record with the later lines of each fork that the later record,
// or its catalogue, accepts.
func withAcceptedForks(before, after []Fact, accepted []string) []Fact {
	later := groupsOf(after)
	for group := range groupsOf(before) {
		if slices.ContainsFunc(accepted, func(key string) bool { return strings.HasPrefix(key, forkKey(group)) }) {
			before = withGroup(before, group, later[group])
		}
	}
	return before
}
