package diag

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns a hint with the candidate closest to word, or "" if none is close enough to be
// what was meant.
func DidYouMean(word string, candidates []string) string {
	if best := Closest(word, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// Nearest asks at the end of an error whether the candidate closest to a word was meant, or the first
// that begins with it. It returns "" if none is close.
func Nearest(word string, candidates []string) string {
	best := Closest(word, candidates)
	if i := slices.IndexFunc(candidates, func(name string) bool { return strings.HasPrefix(name, word) }); best == "" && i >= 0 {
		best = candidates[i]
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// Closest returns the candidate closest to word, or "" if none is close enough
// to be what was meant. Case does not count.
func Closest(word string, candidates []string) string {
	w := []rune(strings.ToLower(word))
	best, bestDistance := "", max(1, len(w)/3)+1
	for _, c := range candidates {
		if d := distance(w, []rune(strings.ToLower(c)), bestDistance); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that make b of a. It gives up at limit and returns it.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	// Three rows of the usual table: for the prefixes of a that are two and one
	// rune shorter, and for the current one.
	beforeLast, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		beforeLast, last, row = last, row, beforeLast
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], beforeLast[j-2]+1)
			}
		}
	}
	return min(row[len(b)], limit)
}
