package edit

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/export"
)

// The schema for editors has every key of the language, and is compared with the
// reader of catalogues: whatever it knows must have a place in the canonical order.
func TestEveryKeyOfTheLanguageHasItsPlace(t *testing.T) {
	type mapping struct {
		Properties map[string]json.RawMessage
		AnyOf      []struct{ Properties map[string]json.RawMessage }
	}
	var schema struct {
		mapping
		Definitions map[string]mapping
	}
	if err := json.Unmarshal(export.CatalogueSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys := func(m mapping) []string {
		var all []string
		for key := range m.Properties {
			all = append(all, key)
		}
		for _, one := range m.AnyOf {
			for key := range one.Properties {
				all = append(all, key)
			}
		}
		slices.Sort(all)
		return all
	}
	sorted := func(c *context) []string { return slices.Sorted(slices.Values(c.keys)) }
	if diff := cmp.Diff(keys(schema.mapping), sorted(rootKeys)); diff != "" {
		t.Errorf("top level (-schema +order):\n%s", diff)
	}
	for name, about := range map[string]*context{
		"event": eventKeys, "subscription": subscriptionKeys, "settings": settingKeys, "retry": retryKeys,
		"limit": limitKeys, "breaker": breakerKeys, "redrive": redriveKeys, "batch": batchKeys,
		"group": groupKeys, "schedule": rootKeys.below["schedules"].each, "type": typeKeys, "field": fieldKeys,
	} {
		if diff := cmp.Diff(keys(schema.Definitions[name]), sorted(about)); diff != "" {
			t.Errorf("%s (-schema +order):\n%s", name, diff)
		}
	}
}
