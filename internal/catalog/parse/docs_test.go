package parse_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
)

// The reference of the language must not promise what is not so. A ```yaml
// block in it is a catalogue, which package compiletest compiles; "yaml broken" is
// one with findings, which the ```text block after it shows, and "yaml some/file.yaml"
// is a file that catalogues include.
var reference = []string{"../../../docs/catalogue.md", "../../../docs/payloads.md"}

func TestCataloguesInTheReferenceAreFreeOfFindings(t *testing.T) {
	whole := blocksOf(t, "yaml")
	if len(whole) < 3 {
		t.Fatalf("found %d catalogues", len(whole))
	}
	for _, b := range whole {
		if _, findings := parse.TextWith(included(t), "events.yaml", []byte(b.text)); len(findings) > 0 {
			t.Errorf("%s has findings:\n%s", b.at, render(t, findings))
		}
	}
}

func TestBrokenCataloguesInTheReferenceGiveTheFindingsShown(t *testing.T) {
	broken, shown := blocksOf(t, "yaml broken"), blocksOf(t, "text")
	if len(broken) < 5 || len(shown) != len(broken) {
		t.Fatalf("found %d broken catalogues and %d times findings", len(broken), len(shown))
	}
	for i, b := range broken {
		_, findings := parse.TextWith(included(t), "events.yaml", []byte(b.text))
		got := render(t, findings)
		if diff := cmp.Diff(shown[i].text, got); diff != "" && !*update {
			t.Errorf("%s shows other findings than there are (-shown +got), -update accepts them:\n%s", shown[i].at, diff)
		}
		shown[i].text = got
	}
	if *update {
		rewrite(t, shown)
	}
}

// included are the files that catalogues in the reference include.
func included(t *testing.T) parse.Memory {
	t.Helper()
	files := parse.Memory{Text: map[string][]byte{}}
	for _, b := range blocks(t) {
		if name, isFile := strings.CutPrefix(b.info, "yaml "); isFile && strings.HasSuffix(name, ".yaml") {
			files.Text[name] = []byte(b.text)
		}
	}
	return files
}

// rewrite replaces the text blocks of the reference.
func rewrite(t *testing.T, shown []block) {
	t.Helper()
	for _, page := range reference {
		var lines []string
		skipping := false
		for _, line := range linesOf(t, page) {
			if skipping && line == "```" {
				lines = append(lines, strings.Split(strings.TrimSuffix(shown[0].text, "\n"), "\n")...)
				shown, skipping = shown[1:], false
			}
			if !skipping {
				lines = append(lines, line)
			}
			skipping = skipping || line == "```text"
		}
		if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryBlockInTheReferenceIsOfAKindThatIsChecked(t *testing.T) {
	for _, b := range blocks(t) {
		if !slices.Contains([]string{"yaml", "yaml broken", "text"}, b.info) && !strings.HasSuffix(b.info, ".yaml") {
			t.Errorf("%s is marked %q", b.at, b.info)
		}
	}
}

func TestTheReferenceListsTheWordsThatNamesKnow(t *testing.T) {
	text := strings.Join(referenceLines(t), " ")
	for _, list := range []struct{ variable, file, sentence string }{
		{"commonInitialisms", "../names.go", `The initialisms are ([A-Z0-9\s]+)\.`},
		{"importedNames", "names/names.go", `that generated code imports: ([^.]+)\.`},
		{"packageNames", "names/collisions.go", `generated code needs itself:\s+([^.]+) in the package`},
		{"methodNames", "names/collisions.go", `in the package, ([^.]+) in a struct`},
	} {
		source, err := os.ReadFile(list.file)
		if err != nil {
			t.Fatal(err)
		}
		words := regexp.MustCompile(`\w{2,}`)
		inCode := regexp.MustCompile(list.variable + ` = (?:set\(|\[\]string\{)([^)}]+)[)}]`).FindStringSubmatch(string(source))
		inText := regexp.MustCompile(list.sentence).FindStringSubmatch(text)
		if inCode == nil || inText == nil {
			t.Errorf("%s: cannot find the list in %s or in the reference", list.variable, list.file)
			continue
		}
		want, got := words.FindAllString(inCode[1], -1), words.FindAllString(strings.ReplaceAll(inText[1], " and ", " "), -1)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the list differs from %s (-code +reference):\n%s", list.variable, diff)
		}
	}
}

// block is a fenced block of the reference.
type block struct {
	at   string // file:line of its first line
	info string // what is written behind the opening fence
	text string
}

func blocks(t *testing.T) []block {
	t.Helper()
	var all []block
	for _, page := range reference {
		var open *block
		for i, line := range linesOf(t, page) {
			info, fence := strings.CutPrefix(line, "```")
			switch {
			case fence && open == nil:
				open = &block{at: fmt.Sprintf("%s:%d", page, i+2), info: info}
			case fence:
				all = append(all, *open)
				open = nil
			case open != nil:
				open.text += line + "\n"
			}
		}
		if open != nil {
			t.Fatalf("%s: the block is never closed", open.at)
		}
	}
	return all
}

func blocksOf(t *testing.T, info string) []block {
	t.Helper()
	return slices.DeleteFunc(blocks(t), func(b block) bool { return b.info != info })
}

// table returns the rows of the table whose header begins with the given
// cells, without the header.
func table(t *testing.T, header ...string) [][]string {
	t.Helper()
	start := "| " + strings.Join(header, " | ") + " |"
	lines := append(referenceLines(t), linesOf(t, "../../../docs/catalogue-keys.md")...)
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, start) })
	if i < 0 {
		t.Fatalf("the reference has no table that begins with %s", start)
	}
	var rows [][]string
	for _, line := range lines[i+2:] {
		inner, ok := strings.CutPrefix(line, "|")
		if !ok {
			break
		}
		cells := strings.Split(strings.TrimSuffix(inner, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 {
		t.Fatalf("the table %s is empty", start)
	}
	return rows
}

func referenceLines(t *testing.T) (lines []string) {
	t.Helper()
	for _, page := range reference {
		lines = append(lines, linesOf(t, page)...)
	}
	return lines
}

func linesOf(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// code returns what is written as code in a cell.
func code(cell string) []string {
	var all []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}
