package catalogue

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/export"
)

func TestExportPrintsWhatThePackageMakes(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	c, _, err := parse.Load("events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made := func(content []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	busgen(t, "export jsonschema").Wants(t, 0, made(export.JSONSchema(c)), "")
	busgen(t, "export jsonschema --event order.placed").Wants(t, 0, made(export.EventSchema(c.Events[0])), "")
	busgen(t, "export asyncapi events.yaml").Wants(t, 0, made(export.AsyncAPI(c, export.Info{Version: "1.0.0"})), "")
	busgen(t, "export typescript").Wants(t, 0, string(export.TypeScript(c)), "")
	busgen(t, "export asyncapi --title Shop --api-version 2").Wants(t, 0, made(export.AsyncAPI(c, export.Info{Title: "Shop", Version: "2"})), "")
}

func TestExportWritesAFileAndTouchesItOnlyIfItIsNotRight(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	want := busgen(t, "export jsonschema").Stdout

	busgen(t, "export jsonschema -o schema.json").Wants(t, 0, "wrote schema.json\n", "")
	clitest.Age(t)
	before := clitest.Snapshot(t)["schema.json"]
	busgen(t, "export jsonschema -o schema.json").Wants(t, 0, "schema.json is up to date\n", "")

	if after := clitest.Snapshot(t)["schema.json"]; after != before || after.Text != want {
		t.Errorf("the file is %+v", after)
	}
}

func TestExportSaysWhatIsWrong(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described, "broken.yaml": broken})
	for command, want := range map[string]struct {
		status int
		text   string
	}{
		"export jsonschema broken.yaml":          {cli.StatusNo, "busgen: 2 errors in broken.yaml\n"},
		"export jsonschema --event order.placd":  {cli.StatusNotFound, "there is no event order.placd in events.yaml: did you mean order.placed?"},
		"export asyncapi nope.yaml":              {cli.StatusTrouble, "there is no catalogue at nope.yaml"},
		"export avro":                            {cli.StatusTrouble, `busgen export has no verb "avro"`},
		"export asyncap":                         {cli.StatusTrouble, "did you mean asyncapi?"},
		"export asyncapi events.yaml other.yaml": {cli.StatusTrouble, "busgen export asyncapi takes one catalogue, not 2"},
	} {
		busgen(t, command).WantsErrors(t, want.status, want.text)
	}
	if got := busgen(t, "export"); got.Status != 0 || !strings.Contains(got.Stdout, "jsonschema") {
		t.Errorf("%+v", got)
	}
}
