package catalogue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/export"
)

func TestSchemaPrintsTheSchemaOfTheLanguage(t *testing.T) {
	inFolder(t, nil)
	busgen(t, "schema").Wants(t, 0, string(export.CatalogueSchema()), "")
	busgen(t, "schema -o catalogue.schema.json").Wants(t, 0, "wrote catalogue.schema.json\n", "")
	if got := read(t, "catalogue.schema.json"); got != string(export.CatalogueSchema()) {
		t.Errorf("the file has %.100s", got)
	}
	included, err := export.IncludedSchema()
	if err != nil {
		t.Fatal(err)
	}
	busgen(t, "schema --included").Wants(t, 0, string(included), "")
	busgen(t, "schema events.yaml").WantsErrors(t, cli.StatusTrouble, `busgen schema takes no argument, but got "events.yaml"`)
}

func TestTheStarterTellsEditorsWhereTheSchemaIs(t *testing.T) {
	var schema struct {
		ID string `json:"$id"`
	}
	if err := json.Unmarshal(export.CatalogueSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	inFolder(t, nil)
	busgen(t, "init")
	if line := "# yaml-language-server: $schema=" + schema.ID + "\n"; !strings.HasPrefix(read(t, "events/events.yaml"), line) {
		t.Errorf("the starter does not begin with %s", line)
	}
}
