package busfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/cli"
)

// looking are the verbs that only look, and --dry-run of those that change.
var looking = []string{
	"status FILE", "status FILE --json", "status FILE --watch --count 2", "events list FILE", "events show FILE ID", "subscriptions list FILE", "check-db FILE",
	"dlq list FILE", "dlq groups FILE", "dlq show FILE ID", "dlq export FILE", "dlq retry FILE --all --dry-run", "dlq discard FILE --all --because x --dry-run",
	"__complete events show FILE ''", "__complete subscriptions pause FILE ''",
}

func TestVerbsThatLookChangeNoByteOfAFileWhoseProgramWasKilled(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		must(t, os.Mkdir("left", 0o777))
		for _, suffix := range []string{"", "-wal", "-shm", "-claims"} { // what a killed process leaves
			content, err := os.ReadFile("shop.db" + suffix)
			must(t, err)
			must(t, os.WriteFile("left/shop.db"+suffix, content, 0o666))
		}
		before := folderContents(t, "left")
		letters := strings.Fields(does(t, "busgen dlq list left/shop.db"))
		id := ""
		for _, word := range letters {
			if strings.HasPrefix(word, "0") && len(word) > 8 && id == "" {
				id = word
			}
		}
		for _, command := range looking {
			command = strings.NewReplacer("FILE", "left/shop.db", "ID", id).Replace(command)
			if got := busgen(t, command); got.Status > 1 || got.Stdout == "" {
				t.Errorf("%s: status %d, %s", command, got.Status, got.Stderr)
			}
			if diff := cmp.Diff(before, folderContents(t, "left")); diff != "" {
				t.Fatalf("%s has changed the files:\n%.300s", command, diff)
			}
		}
		id = shownID(t, "busgen dlq list left/shop.db --reason permanent")
		if got := typed(t, "busgen dlq edit left/shop.db "+id, "{}"); got.Status != cli.StatusNo || !strings.Contains(got.Stderr, "stored by shop") {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(before, folderContents(t, "left")); diff != "" {
			t.Errorf("a payload that was refused has changed the files:\n%.300s", diff)
		}
	})
}

// folderContents reads the files of a folder.
func folderContents(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	found := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		must(t, err)
		found[entry.Name()] = string(content)
	}
	return found
}
