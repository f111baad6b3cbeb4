package names_test

import (
	"go/token"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

func TestGoName(t *testing.T) {
	for name, want := range map[string]string{
		"order.placed":       "OrderPlaced",
		"ml.run.started":     "MLRunStarted",
		"ui.command.issued":  "UICommandIssued",
		"user_id":            "UserID",
		"line_ids":           "LineIDs",
		"callback_urls":      "CallbackURLs",
		"https_url":          "HTTPSURL",
		"css":                "CSS",
		"status":             "Status",
		"v2_id":              "V2ID",
		"a__b_":              "AB",
		"EUR":                "EUR",
		"eur":                "Eur",
		"inProgress":         "InProgress",
		"in-progress":        "InProgress",
		"PENDING_REVIEW":     "PendingReview",
		"SEAT_ID":            "SeatID",
		"GPU_ID":             "GPUID",
		"gpu_hours":          "GPUHours",
		"sku":                "SKU",
		"skus":               "SKUs",
		"N/A":                "NA",
		"größe":              "Größe",
		"2xl":                "2xl",
		"€":                  "",
		"order.line.2.added": "OrderLine2Added",
	} {
		if got := catalog.GoName(name); got != want {
			t.Errorf("GoName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNamesOfEventsMakeExportedIdentifiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(rapid.StringMatching(`[a-z][a-z0-9_]{0,8}`), 1, 4).Draw(t, "segments")
		name := strings.Join(segments, ".")
		if got := catalog.GoName(name); !token.IsIdentifier(got) || !token.IsExported(got) {
			t.Errorf("GoName(%q) = %q", name, got)
		}
	})
}

func TestPackageNames(t *testing.T) {
	tests := []struct{ name, reason string }{
		{"events", ""},
		{"shopevents2", ""},
		{"func", "it is a keyword of Go"},
		{"string", "it is a predeclared name of Go"},
		{"main", "it cannot be imported"},
		{"init", "it cannot be imported"},
		{"_", "it cannot be imported"},
		{"uuid", "generated code imports a package of that name"},
		{"my-events", "it is not a Go identifier"},
		{"events_test", "names in _test are for tests"},
	}
	for _, tt := range tests {
		_, findings := parse.Text("events.yaml", []byte("version: 1\npackage: "+tt.name+"\nevents: { a: {} }\n"))
		switch {
		case tt.reason == "" && len(findings) > 0:
			t.Errorf("package %s: %v", tt.name, findings)
		case tt.reason != "" && !strings.Contains(findings.Error(), tt.reason):
			t.Errorf("package %s: got %q, want %q", tt.name, findings.Error(), tt.reason)
		}
	}
}
