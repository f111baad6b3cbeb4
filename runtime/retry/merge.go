package retry

import (
	"cmp"
	"slices"
)

// Merge returns the options that set what base sets, and what over sets instead: one for each
// field, in the order of the fields of [Policy].
func Merge(base, over []Option) []Option {
	var merged []Option
	for _, opt := range slices.Concat(base, over) {
		if i := slices.IndexFunc(merged, func(o Option) bool { return o.field == opt.field }); i >= 0 {
			merged[i] = opt
		} else {
			merged = append(merged, opt)
		}
	}
	slices.SortFunc(merged, func(a, b Option) int { return cmp.Compare(a.field, b.field) })
	return merged
}
