package edit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/edit"
)

func TestDiffShowsChangesWithThreeLinesAround(t *testing.T) {
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n"
	after := "1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n11\n12\n13\n14\n16\n17\n"
	want := `--- events.yaml
+++ events.yaml
@@ -3,7 +3,7 @@
 3
 4
 5
-6
+six
 7
 8
 9
@@ -12,5 +12,5 @@
 12
 13
 14
-15
 16
+17
`
	if diff := cmp.Diff(want, edit.Diff("events.yaml", []byte(before), []byte(after))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffShowsLineEnds(t *testing.T) {
	got := edit.Diff("f", []byte("a\r\nb"), []byte("a\nb\n"))
	if !strings.Contains(got, "-a␍\n") || !strings.Contains(got, "-b  (no line end)\n") {
		t.Errorf("got %q", got)
	}
	if got := edit.Diff("f", []byte("a\n"), []byte("a\n")); got != "" {
		t.Errorf("got %q for what is the same", got)
	}
}

func TestTextsWithLittleInCommonAreReplacedAsAWhole(t *testing.T) {
	before, after := strings.Repeat("a\n", 4000), strings.Repeat("b\n", 4000)
	got := edit.Diff("f", []byte(before), []byte(after))
	want := "--- f\n+++ f\n@@ -1,4000 +1,4000 @@\n" + strings.Repeat("-a\n", 4000) + strings.Repeat("+b\n", 4000)
	if got != want {
		t.Errorf("got %.200s", got)
	}
}

func TestTwoChangesFarApartAreTwoHunks(t *testing.T) {
	lines := make([]string, 100_000)
	for i := range lines {
		lines[i] = strconv.Itoa(i) + "\n"
	}
	before := strings.Join(lines, "")
	lines[5], lines[99_000] = "five\n", "far\n"
	got := edit.Diff("f", []byte(before), []byte(strings.Join(lines, "")))
	if strings.Count(got, "\n@@") != 2 || strings.Count(got, "\n") != 2+2*(1+3+2+3) {
		t.Errorf("got %.400s", got)
	}
}

// The program patch is the judge of a diff.
func TestADiffCanBeApplied(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch on this machine")
	}
	dir := t.TempDir()
	lines := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n", "e\n"}), 0, 30).Draw(t, "lines"), "")
	})
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		before, after := lines.Draw(t, "before"), lines.Draw(t, "after")
		diff := edit.Diff("file", []byte(before), []byte(after))
		if runs++; runs > 40 || before == after { // a process each
			return
		}
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		patch := exec.Command("patch", "-s", "-o", "-", path)
		patch.Stdin = strings.NewReader(diff)
		got, err := patch.Output()
		if err != nil || string(got) != after {
			t.Fatalf("%v: got %q, want %q, by\n%s", err, got, after, diff)
		}
	})
}
