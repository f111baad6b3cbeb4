package catalog

import (
	"fmt"

	"github.com/busgen/busgen/internal/suggest"
)

// didYouMean returns a hint with the candidate closest to word, or "" if none
// is close enough to be what someone meant.
func didYouMean(word string, candidates []string) string {
	if best := suggest.Closest(word, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}
