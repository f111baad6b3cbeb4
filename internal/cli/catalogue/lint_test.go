package catalogue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/lint"
)

// careless gets two warnings and a note.
const careless = `version: 1
package: shop
lint: { field-doc: off }
events:
  user.registered:
    payload: { password: string }
  user.register: { doc: Someone wants an account. }
`

func TestLintShowsWhatItFindsWithItsSeverity(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": careless})
	busgen(t, "lint").Wants(t, cli.StatusNo, `events.yaml:5:3: warning: event user.registered has no doc; add a doc that says what happened [event-doc]
    5 |   user.registered:
      |   ^^^^^^^^^^^^^^^
events.yaml:6:16: warning: field password of event user.registered looks like a secret; leave it out, send a reference to where it is kept, or mark it sensitive: true [secret-field]
    6 |     payload: { password: string }
      |                ^^^^^^^^
events.yaml:7:3: note: register of event user.register does not read like a past event; name what has happened, as in order.placed [past-tense]
    7 |   user.register: { doc: Someone wants an account. }
      |   ^^^^^^^^^^^^^
`, "busgen: 2 warnings and 1 note in events.yaml\n")
}

func TestTheWorstFindingDecidesTheStatusOfLint(t *testing.T) {
	const clean = "version: 1\npackage: shop\nevents:\n  order.placed: { doc: Somebody ordered. }\n"
	const note = "  order.pay: { doc: Somebody pays. }\n"
	for name, test := range map[string]struct {
		source         string
		status         int
		stdout, stderr string
	}{
		"nothing":                      {clean, 0, "", ""},
		"a note":                       {clean + note, 0, "[past-tense]\n    5 |   order.pay: { doc: Somebody pays. }\n      |   ^^^^^^^^^\n1 note in events.yaml\n", ""},
		"a note made an error":         {clean + note + "lint: { past-tense: error }\n", cli.StatusNo, " error: pay of ", "busgen: 1 error in events.yaml\n"},
		"one switched off":             {clean + note + "lint: { past-tense: off }\n", 0, "", ""},
		"a finding of the catalogue's": {broken, cli.StatusNo, "", "busgen: 2 errors in events.yaml\n"},
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t, map[string]string{"events.yaml": test.source})
			got := busgen(t, "lint")
			if got.Status != test.status || !strings.Contains(got.Stdout, test.stdout) || !strings.HasSuffix(got.Stderr, test.stderr) || (test.stdout == "") != (got.Stdout == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLintForPrograms(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": careless})
	var got findingsObject
	if err := json.Unmarshal([]byte(busgen(t, "lint --format json").Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 3 || got.Findings[0].Severity != "warning" || got.Findings[2].Severity != "note" || got.Findings[2].Rule != "past-tense" {
		t.Errorf("got %+v", got)
	}
	if out := busgen(t, "lint --format github").Stdout; !strings.HasPrefix(out, "::warning file=events.yaml,line=5,") || !strings.Contains(out, "\n::notice file=") {
		t.Errorf("got %s", out)
	}
}

func TestLintAsSARIFDescribesItsRules(t *testing.T) {
	essentials := schemaFile(t, "testdata/schema/sarif-essentials.json")
	inFolder(t, map[string]string{"events.yaml": careless})
	text := busgen(t, "lint --format sarif").Stdout
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := essentials.Validate(document); err != nil {
		t.Error(err)
	}
	if !strings.Contains(text, rules.SecretField.Doc) {
		t.Errorf("the purpose is missing in %s", text)
	}
}

func TestLintListsItsRules(t *testing.T) {
	inFolder(t, nil)
	got := busgen(t, "lint --rules")
	for _, rule := range lint.Rules() {
		for _, text := range []string{rule.ID + " (" + rule.Severity.String() + ")\n  " + rule.Doc, excerpt(rule.Bad), excerpt(rule.Good)} {
			if !strings.Contains(got.Stdout, text) {
				t.Errorf("the list lacks %q", text)
			}
		}
	}
	busgen(t, "lint --rules --format json").WantsErrors(t, cli.StatusTrouble, "rules")
}
