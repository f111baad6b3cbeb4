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

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

// testdata/rules.txt names the tests of each rule of docs/semantics.md. Here is the test of
// that, and those of rules that need no other place.

func TestEveryRuleOfTheSemanticsNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "semantics.md"))
	conformance.Must(t, err)
	text, _, found := strings.Cut(string(page), "\n## What is not promised\n")
	if !found {
		t.Fatal("the page has no section on what is not promised")
	}
	var ofPage []string
	for _, item := range strings.Split(text, "\n* ")[1:] {
		title := regexp.MustCompile(`(?s)^\*\*(.*?)\*\*`).FindStringSubmatch(item)
		if title == nil {
			t.Errorf("a rule does not begin with its title: %.50q", item)
			continue
		}
		ofPage = append(ofPage, strings.Join(strings.Fields(title[1]), " "))
	}
	exist := testFolders(t)
	var listed, unbroken []string
	for _, rule := range readRules(t) {
		listed = append(listed, rule.title)
		if len(rule.tests) == 0 {
			t.Errorf("no test is named for %q", rule.title)
		}
		if len(rule.marked) == 0 && rule.construction == "" {
			unbroken = append(unbroken, rule.title)
		}
		for _, name := range rule.tests {
			if exist[name] == "" {
				t.Errorf("%s, named for %q, does not exist", name, rule.title)
			}
		}
	}
	if diff := cmp.Diff(listed, ofPage); diff != "" {
		t.Errorf("testdata/rules.txt has other rules than the page, or in another order (-rules +page):\n%s", diff)
	}
	if len(listed) < 40 {
		t.Errorf("only %d rules were found: is their form another one?", len(listed))
	}
	if n := len(unbroken); n != unbrokenRules {
		t.Errorf("%d rules have no test that was seen to fail, and no reason by construction; want %d, or less:\n\t%s",
			n, unbrokenRules, strings.Join(unbroken, "\n\t"))
	}
}

// unbrokenRules is how many rules no recorded change of the code breaks. There are to be none: a rule
// that no code can break says why in testdata/rules.txt, by construction.
const unbrokenRules = 6

// testedRule is a rule of docs/semantics.md with its tests.
type testedRule struct {
	title  string
	tests  []string
	marked []string // those that brokenRules sees fail

	construction string // why no code can break it; empty for most
}

// readRules reads the index of the tests.
func readRules(t *testing.T) (rules []testedRule) {
	t.Helper()
	index, err := os.ReadFile(filepath.Join("testdata", "rules.txt"))
	conformance.Must(t, err)
	for line := range strings.Lines(string(index)) {
		tests, indented := strings.CutPrefix(line, "\t")
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case !indented:
			rules = append(rules, testedRule{title: line})
		case len(rules) == 0:
			t.Fatalf("testdata/rules.txt has tests before its first rule: %s", line)
		default:
			rule := &rules[len(rules)-1]
			if why, ok := strings.CutPrefix(tests, "by construction: "); ok {
				rule.construction = strings.TrimSpace(why)
				continue
			}
			for _, word := range strings.Fields(tests) {
				if word == "✓" && len(rule.tests) > 0 {
					rule.marked = append(rule.marked, rule.tests[len(rule.tests)-1])
				} else {
					rule.tests = append(rule.tests, word)
				}
			}
		}
	}
	return rules
}

// A test that is renamed would otherwise run where CI leaves it out, or not run at all.
func TestEveryTestThatCINamesExists(t *testing.T) {
	var named []string
	for _, tier := range []string{"run", "long", "broken", "fuzzing.txt"} {
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
