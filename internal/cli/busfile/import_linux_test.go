package busfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportClosesTheFileThatItReads(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		typed(t, "busgen dlq export shop.db --out dead.jsonl", "").Wants(t, 0, "", "exported 12 dead letters\n")
		typed(t, "busgen dlq import shop.db dead.jsonl", "").Wants(t, 0, "matched 12, added 0, skipped 12\n", "")
		handles, err := filepath.Glob("/proc/self/fd/*")
		must(t, err)
		for _, handle := range handles {
			if name, _ := os.Readlink(handle); strings.HasSuffix(name, "dead.jsonl") {
				t.Errorf("%s is still open", name)
			}
		}
	})
}
