package record

import (
	"maps"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// AlsoSince adds earlier records that the catalogue is compared with too, because a later one does not follow
// them.
func (r *Record) AlsoSince(earlier ...*Record) {
	r.earlier = append(r.earlier, earlier...)
	for _, one := range earlier {
		maps.Copy(r.texts, one.texts)
	}
}

// Follows reports whether a record may have been generated after another one: names that are gone are
// reserved, and refused findings are accepted, in the record or by one of the keys. The record of a commit
// that reverts another one does not follow the record before it. now is the catalogue of the record. If it
// is nil, only the record is used, which lacks the names of structs in place.
func (r *Record) Follows(before *Record, now *catalog.Catalogue, accepted []string) bool {
	after, reserved := r.withoutRemoved()
	if len(before.facts) == 0 || len(variants(after)) > 1 {
		return true // the record has an older form, or no generate has run since a merge
	}
	if now == nil {
		now, _ = ReadFacts(after)
	}
	accepted = slices.Concat(accepted, r.accepted)
	isRefused := func(f *diag.Finding) bool {
		return Refused(f) && !slices.Contains(accepted, f.Key)
	}
	for _, facts := range variants(withAcceptedForks(before.facts, after, accepted)) {
		was, _ := ReadFacts(facts)
		for _, f := range RemovedFacts(was, now) {
			if !reserved[wordsOf(f)] {
				return false
			}
		}
		found, err := breaking.Compare(breaking.State{Catalogue: was, Read: noText}, breaking.State{Catalogue: now, Read: noText})
		if err != nil || slices.ContainsFunc(found, isRefused) {
			return false
		}
	}
	return true
}

// withoutRemoved returns the facts about what exists, and the words of the facts about what is gone.
func (r *Record) withoutRemoved() (facts []Fact, removed map[string]bool) {
	removed = map[string]bool{}
	for _, f := range r.facts {
		if f.IsRemoved() {
			removed[wordsOf(f)] = true
		} else {
			facts = append(facts, f)
		}
	}
	return facts, removed
}

func wordsOf(f Fact) string { return strings.Join(f.Words, "\x00") }

// noText serves findings that are not shown.
func noText(string) ([]byte, error) { return nil, nil }
