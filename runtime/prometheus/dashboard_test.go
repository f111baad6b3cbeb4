package busprom_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/internal/conformance"
	busprom "github.com/busgen/busgen/runtime/prometheus"
)

// dashboard is what the tests need of the JSON.
type dashboard struct {
	UID    string
	Panels []panel
}

type panel struct {
	ID      int
	Type    string
	Title   string
	Targets []struct{ Expr, RefID string }
}

// charts returns the panels that show something.
func charts(t *testing.T) (all []panel) {
	t.Helper()
	var d dashboard
	conformance.Must(t, json.Unmarshal([]byte(busprom.Dashboard), &d))
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		if ids[p.ID] = true; p.Type != "row" {
			all = append(all, p)
		}
	}
	if d.UID == "" || len(all) < 20 {
		t.Fatalf("the dashboard %q has %d panels", d.UID, len(all))
	}
	return all
}

var metricName = regexp.MustCompile(`busgen_[a-z_]+`)

func TestEveryMetricOfTheDashboardIsCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := busy(t)
		var known []string
		for name, family := range gathered(t, busprom.NewCollector(f.Bus, busprom.WithFile(f.Path))) {
			known = append(known, name)
			if family.GetType().String() == "HISTOGRAM" {
				known = append(known, name+"_bucket", name+"_sum", name+"_count")
			}
		}
		for _, p := range charts(t) {
			if len(p.Targets) == 0 {
				t.Errorf("%s shows nothing", p.Title)
			}
			for _, target := range p.Targets {
				names := metricName.FindAllString(target.Expr, -1)
				if len(names) == 0 {
					t.Errorf("%s: %q has no metric", p.Title, target.Expr)
				}
				for _, name := range names {
					if !slices.Contains(known, name) {
						t.Errorf("%s: there is no metric %s", p.Title, name)
					}
				}
			}
		}
		for _, name := range metricName.FindAllString(busprom.Dashboard, -1) {
			if !slices.Contains(known, name) {
				t.Errorf("there is no metric %s", name)
			}
		}
	})
}

// forPrometheus replaces what Grafana replaces in an expression.
var forPrometheus = strings.NewReplacer("$__rate_interval", "5s", "$subscription", ".*")
