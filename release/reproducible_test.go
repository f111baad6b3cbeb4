package release

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/short"
)

// Two builds know nothing of each other: their trees and their caches are in other folders.
func TestTwoBuildsOfACommitAreTheSame(t *testing.T) {
	short.Skip(t, "the command is compiled twice, with all that it needs")
	var builds [2]map[string][sha256.Size]byte
	for i := range builds {
		tree := tree(t)
		for _, command := range [][]string{
			{"sh", "release/extras"},
			{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", "release/out/busgen", "./cmd/busgen"},
		} {
			build := exec.Command(command[0], command[1:]...)
			build.Dir = tree
			build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOCACHE="+t.TempDir())
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", command, err, out)
			}
		}
		builds[i] = map[string][sha256.Size]byte{}
		out := filepath.Join(tree, "release", "out")
		must(t, filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			name, _ := filepath.Rel(out, path)
			builds[i][name] = sha256.Sum256(content)
			return err
		}))
	}
	if len(builds[0]) < 60 {
		t.Errorf("there are %d files", len(builds[0]))
	}
	if diff := cmp.Diff(builds[0], builds[1]); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}
