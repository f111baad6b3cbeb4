package handbook

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheFoldersTestsAndFlagsOfCommandsOfGoExist(t *testing.T) {
	if n := checkSpans(t, "go", func(root string, c Command) error {
		if c.Page == "docs/jetstream.md" {
			root = filepath.Join(root, "runtime/jetstream") // as the page says
		}
		return testsExist(root, c.Text)
	}); n < 20 {
		t.Errorf("%d commands were found in the sentences of the pages", n)
	}
}

// function is a test, and ofGo are flags that each test or program has.
var (
	function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)
	ofGo     = []string{"run", "fuzz", "bench", "race", "v"}
)

// testsExist returns an error if a command line of go test or go run names a folder, a test or a flag
// that does not exist. It knows the flags that the package itself has.
func testsExist(root, line string) error {
	words := strings.Fields(line)[1:]
	if end := slices.Index(words, "&&"); end >= 0 {
		words = words[:end]
	}
	if len(words) == 0 || words[0] != "test" && words[0] != "run" {
		return nil
	}
	var sources strings.Builder // of the folders that are named
	for i, word := range words {
		flag, isFlag := strings.CutPrefix(word, "-")
		switch {
		case strings.HasPrefix(word, "./") && !strings.HasSuffix(word, "..."):
			files, _ := filepath.Glob(filepath.Join(root, word, "*.go"))
			if len(files) == 0 {
				return fmt.Errorf("there is no folder %s with sources of Go", word)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				sources.Write(text)
			}
		case !isFlag || sources.Len() == 0:
		case !slices.Contains(ofGo, flag):
			if !strings.Contains(sources.String(), `"`+flag+`"`) {
				return fmt.Errorf("there is no flag -%s", flag)
			}
		case i+1 < len(words) && (flag == "run" || flag == "fuzz"):
			name, err := regexp.Compile(strings.Trim(words[i+1], "'"))
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(function.FindAllStringSubmatch(sources.String(), -1), func(f []string) bool { return name.MatchString(f[1]) }) {
				return fmt.Errorf("there is no test %s", words[i+1])
			}
		}
	}
	return nil
}

func TestAFolderTestOrFlagThatDoesNotExistIsFound(t *testing.T) {
	root, err := Root()
	must(t, err)
	for line, want := range map[string]string{
		"go test ./...": "",
		"go test ./internal/handbook -run 'Sentences$' -v":  "",
		"go test ./internal/apirecord -update":              "",
		"go generate ./nowhere":                             "",
		"go test ./internal/nowhere":                        "there is no folder ./internal/nowhere with sources of Go",
		"go test ./internal/handbook -run SpansAreNot":      "there is no test SpansAreNot",
		"go test ./internal/apirecord -updat":               "there is no flag -updat",
		"go test ./internal/apirecord ./internal/nothing":   "there is no folder ./internal/nothing with sources of Go",
		"go run ./bench -case ephemeral && go run ./nosuch": "",
	} {
		got := ""
		if err := testsExist(root, line); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// What SECURITY.md says holds an attack is a test, or a fuzz target.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(source, -1) {
			there[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllSubmatch(page, -1)
	if len(named) < 20 {
		t.Errorf("it names %d tests", len(named))
	}
	for _, one := range named {
		if !there[string(one[1])] {
			t.Errorf("there is no %s", one[1])
		}
	}
}
