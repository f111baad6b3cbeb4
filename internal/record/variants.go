package record

import (
	"slices"
	"strings"
)

// variants splits facts that contradict each other, as after a merge of branches that changed the same thing.
// Stored events may rely on each of them. The n-th variant has the n-th fact of each.
func variants(facts []Fact) [][]Fact {
	seen, sorts := map[string][]Fact{}, map[string][]string{}
	most := 1
	for _, f := range facts {
		if f.IsRemoved() {
			continue
		}
		key := strings.Join(f.Words, "\x00")
		seen[key] = append(seen[key], f)
		most = max(most, len(seen[key]))
		if name := typeOf(f); name != "" && !slices.Contains(sorts[name], f.Words[0]) {
			sorts[name] = append(sorts[name], f.Words[0])
			most = max(most, len(sorts[name]))
		}
	}
	if most == 1 {
		return [][]Fact{facts}
	}
	var all [][]Fact
	for n := range most {
		var one []Fact
		taken := map[string]bool{}
		for _, f := range facts {
			if f.IsRemoved() {
				one = append(one, f)
				continue
			}
			if name := typeOf(f); name != "" && f.Words[0] != sorts[name][min(n, len(sorts[name])-1)] {
				continue
			}
			key := strings.Join(f.Words, "\x00")
			if same := seen[key]; !taken[key] {
				taken[key] = true
				one = append(one, same[min(n, len(same)-1)])
			}
		}
		all = append(all, one)
	}
	return all
}
