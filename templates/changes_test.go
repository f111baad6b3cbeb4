package templates

import (
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/edit"
)

// Settings are written once in generated code, as in the catalogue: what one line of that changes is one place here.
func TestAChangeOfASettingChangesFewPlacesOfTheGeneratedCode(t *testing.T) {
	example, err := os.ReadFile("../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const bare = "version: 1\npackage: events\nevents:\n  order.placed: { payload: { id: uuid } }\n  order.paid: { payload: { id: uuid } }\n  user.seen: {}\n"
	for name, test := range map[string]struct {
		before   string
		old, new string
		files    string // that change
		hunks    int    // at most, in all of them
	}{
		"the timeout of the defaults":            {string(example), "timeout: 30s ", "timeout: 20s ", "catalogue.gen.go", 1},
		"the retry of the defaults":              {string(example), "    max_attempts: 3\n", "    max_attempts: 4\n", "catalogue.gen.go", 1},
		"defaults where there were none":         {bare, "events:", "defaults: { timeout: 20s }\nevents:", "catalogue.gen.go", 2}, // with the import of time
		"a default that is set beside another":   {bare, "package: events", "package: events\ndefaults: { timeout: 20s, concurrency: 2 }", "catalogue.gen.go", 2},
		"a policy where there was none":          {bare, "events:", "policies: { order.*: { concurrency: 2 } }\nevents:", "catalogue.gen.go", 2}, // with the import of declare
		"the retry of an event":                  {bare, "order.paid: {", "order.paid: { retry: { max_attempts: 9 },", "catalogue.gen.go", 2},
		"the retry of an event that has one":     {strings.Replace(bare, "order.paid: {", "order.paid: { retry: { jitter: 0 },", 1), "jitter: 0", "jitter: 0.5", "catalogue.gen.go", 1},
		"a declared subscription with a setting": {bare, "user.seen: {}", "user.seen: { subscriptions: { greet: { timeout: 1m } } }", "subscribe.gen.go catalogue.gen.go", 3},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(test.before, test.old) {
				t.Fatalf("the catalogue has no %q", test.old)
			}
			after := strings.Replace(test.before, test.old, test.new, 1)
			var changed []string
			var diffs string
			now := map[string][]byte{}
			for _, file := range generate(t, parseFile(t, "events.yaml", []byte(after))) {
				now[file.Name] = file.Content
			}
			for _, file := range generate(t, parseFile(t, "events.yaml", []byte(test.before))) {
				if diff := edit.Diff(file.Name, file.Content, now[file.Name]); diff != "" {
					changed, diffs = append(changed, file.Name), diffs+diff
				}
			}
			if got := strings.Join(changed, " "); got != test.files {
				t.Errorf("%s changed, want %s", got, test.files)
			}
			if hunks := strings.Count("\n"+diffs, "\n@@ "); hunks > test.hunks {
				t.Errorf("%d hunks, want %d at most:\n%s", hunks, test.hunks, diffs)
			}
		})
	}
}
