package catalogue

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
)

// collided has one finding with a related place, below a folder whose name must
// be escaped.
const collided = `version: 1
package: shop
events:
  user.created: {}
  user_created: {}
`

// findingsObject is the document of --format json, as another program would read it.
type findingsObject struct {
	Findings []struct {
		placeObject
		Severity, Direction, Rule, Key, Message, Hint string
		Related                                       []placeObject
	}
}

type placeObject struct {
	File         string
	Line, Column int
	EndColumn    int `json:"end_column"`
}

func TestFindingsAsJSON(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": collided})
	want := `{
  "findings": [
    {
      "file": "events.yaml",
      "line": 5,
      "column": 3,
      "end_column": 15,
      "severity": "error",
      "rule": "go-name-collision",
      "message": "event user_created makes the Go name UserCreated, and so does event user.created",
      "hint": "rename one of them, or give it another go_name",
      "related": [
        {
          "file": "events.yaml",
          "line": 4,
          "column": 3,
          "end_column": 15,
          "message": "event user.created is here"
        }
      ]
    }
  ]
}
`
	busgen(t, "--format json").Wants(t, cli.StatusNo, want, "busgen: 1 error in events.yaml; nothing was written\n")
	busgen(t, "check --format=json").Wants(t, cli.StatusTrouble, want, "busgen: 1 error in events.yaml\n")
}

func TestFindingsAsAnnotationsOfGitHub(t *testing.T) {
	inFolder(t, map[string]string{"a,b 100%/events.yaml": collided})
	var stdout, stderr strings.Builder
	run(t.Context(), []string{"a,b 100%/events.yaml", "--format", "github"}, strings.NewReader(""), &stdout, &stderr)
	want := "::error file=a%2Cb 100%25/events.yaml,line=5,col=3,endColumn=15,title=go-name-collision::" +
		"event user_created makes the Go name UserCreated, and so does event user.created; rename one of them, or give it another go_name" +
		"%0Aa,b 100%25/events.yaml:4:3: event user.created is here\n"
	if diff := cmp.Diff(want, stdout.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFindingsAsSARIF(t *testing.T) {
	essentials := schemaFile(t, "testdata/schema/sarif-essentials.json")
	for name, files := range map[string]map[string]string{
		"two findings":           {"events.yaml": broken},
		"one with a related one": {"events.yaml": collided},
		"none":                   {"events.yaml": simple},
		"in an odd folder":       {"a b#c/events.yaml": collided},
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t, files)
			var stdout, stderr strings.Builder
			run(t.Context(), []string{filepath.Join(filepath.Dir(onlyKey(files)), "events.yaml"), "--format", "sarif"}, strings.NewReader(""), &stdout, &stderr)
			document, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout.String()))
			if err != nil {
				t.Fatal(err, stdout.String())
			}
			if err := essentials.Validate(document); err != nil {
				t.Error(err, stdout.String())
			}
		})
	}
}

func TestAResultOfSARIFPointsAtItsRuleAndItsPlace(t *testing.T) {
	inFolder(t, map[string]string{"my events/events.yaml": broken})
	var stdout, stderr strings.Builder
	run(t.Context(), []string{"check", "my events/events.yaml", "--format", "sarif"}, strings.NewReader(""), &stdout, &stderr)
	type region struct{ StartLine, StartColumn, EndColumn int }
	type physical struct {
		ArtifactLocation struct{ URI string }
		Region           region
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleIndex int
				Message   struct{ Text string }
				Locations []struct{ PhysicalLocation physical }
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout.String()), &log); err != nil {
		t.Fatal(err)
	}
	got := log.Runs[0]
	if len(got.Results) != 2 || got.Tool.Driver.Rules[got.Results[1].RuleIndex].ID != "unknown-type" {
		t.Fatalf("got %+v", got)
	}
	want := physical{struct{ URI string }{"my%20events/events.yaml"}, region{6, 26, 29}}
	if at := got.Results[1].Locations[0].PhysicalLocation; at != want {
		t.Errorf("the place is %+v, want %+v", at, want)
	}
	if text := got.Results[1].Message.Text; !strings.HasSuffix(text, `; did you mean "uuid"?`) {
		t.Errorf("the message is %q", text)
	}
}

func onlyKey(m map[string]string) string {
	for key := range m {
		return key
	}
	return ""
}

// schemaFile compiles a JSON Schema that is beside the tests.
func schemaFile(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, string(text))
}

// schemaOf compiles a JSON Schema; that fails if it is not one.
func schemaOf(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestWithoutFindingsTheDocumentIsEmpty(t *testing.T) {
	for form, want := range map[string]string{"json": "{\n  \"findings\": []\n}\n", "github": ""} {
		inFolder(t, map[string]string{"events.yaml": simple})
		busgen(t, "--format "+form).Wants(t, 0, want, "")
		busgen(t, "check --format "+form).Wants(t, 0, want, "")
	}
}

func TestAnOutdatedFileIsAFindingForPrograms(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": simple})
	busgen(t, "-q").Wants(t, 0, "", "")
	clitest.AppendTo(t, "payloads.gen.go", "// edited\n")
	busgen(t, "check --format github").Wants(t, cli.StatusNo,
		"::error file=payloads.gen.go,line=1,col=1,endColumn=2,title=out-of-date::payloads.gen.go is changed; run \"busgen generate events.yaml\"\n",
		"busgen: the generated code is not up to date: run \"busgen generate events.yaml\"\n")
}

func TestTroubleIsNoFinding(t *testing.T) {
	inFolder(t, nil)
	busgen(t, "check --format sarif").WantsErrors(t, cli.StatusTrouble, "there is no events.yaml in this folder")
	busgen(t, "check --format xml").WantsErrors(t, cli.StatusTrouble, `"xml"`, "want one of text, json, github, sarif", `see "busgen check --help"`)
}
