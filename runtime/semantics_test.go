package runtime_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

// docs/semantics.md names a test for each of its rules. Here is the test of
// that, and those of rules that need no other place.

func TestEveryRuleOfTheSemanticsNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "semantics.md"))
	conformance.Must(t, err)
	rules, _, found := strings.Cut(string(page), "\n## What is not promised\n")
	if !found {
		t.Fatal("the page has no section on what is not promised")
	}
	exist := testFolders(t)
	named := regexp.MustCompile("`(Test[A-Za-z0-9]*)`")
	items := strings.Split(rules, "\n* ")[1:]
	for _, item := range items {
		title, _, _ := strings.Cut(item, "\n")
		names := named.FindAllStringSubmatch(item, -1)
		if names == nil {
			t.Errorf("no test is named for %q", title)
		}
		for _, name := range names {
			if exist[name[1]] == "" {
				t.Errorf("%s, named for %q, does not exist", name[1], title)
			}
		}
	}
	if len(items) < 40 {
		t.Errorf("only %d rules were found: is their form another one?", len(items))
	}
}

// A test that is renamed would otherwise run where CI leaves it out, or not run at all.
func TestEveryTestThatCINamesExists(t *testing.T) {
	var named []string
	for _, tier := range []string{"run", "long"} {
		script, err := os.ReadFile(filepath.Join("..", ".ci", tier))
		conformance.Must(t, err)
		named = append(named, regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`).FindAllString(string(script), -1)...)
	}
	if len(named) < 10 {
		t.Errorf("only %d names were found: is the form of the scripts another one?", len(named))
	}
	exist := testFolders(t)
	for _, name := range named {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(exist)), func(test string) bool { return strings.HasPrefix(test, name) }) {
			t.Errorf("no test begins with %s", name)
		}
	}
}

// Rows of the comparisons have a test or a reason.
func TestThePagesOnConversationAndFlowNameTestsThatExist(t *testing.T) {
	exist := testFolders(t)
	for name, least := range map[string]int{"conversation.md": 70, "flow.md": 60} {
		page, err := os.ReadFile(filepath.Join("..", "docs", name))
		conformance.Must(t, err)
		named := regexp.MustCompile("`(Test[A-Za-z0-9]*)`").FindAllStringSubmatch(string(page), -1)
		if len(named) < least {
			t.Errorf("%s names only %d tests: is their form another one?", name, len(named))
		}
		for _, name := range named {
			if exist[name[1]] == "" {
				t.Errorf("%s does not exist", name[1])
			}
		}
		_, comparison, found := strings.Cut(string(page), "\n## Compared with ")
		if !found {
			t.Errorf("%s has no comparison", name)
		}
		for _, row := range regexp.MustCompile(`(?m)^\|.*\|$`).FindAllString(comparison, -1) {
			if cells := strings.Split(row, " | "); len(cells) > 1 && strings.Trim(cells[len(cells)-1], " |") == "" {
				t.Errorf("%s: neither a test nor a reason: %s", name, row)
			}
		}
	}
}

// testFolders returns the tests in all the packages of the module, and those of the suites, with their folders.
func testFolders(t *testing.T) map[string]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)
	folders := maps.Clone(suites)
	conformance.Must(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range declared.FindAllSubmatch(source, -1) {
			folders[string(match[1])] = strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		}
		return err
	}))
	return folders
}
