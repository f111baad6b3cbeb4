package importer_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer"
)

func TestLimitsAreImportedFromWhatBusgenExports(t *testing.T) {
	const source = `version: 1
package: events

limits:
  bank: { doc: The bank is slow., at_once: 3 }
  mail.api: { rate: 100 per 1m }

events:
  order.placed:
    limits: [bank, { limit: mail.api, by: id }]
    payload: { id: string }
    subscriptions:
      audit: { limits: off }
`
	c, findings := parse.Text("events.yaml", []byte(source))
	if findings != nil {
		t.Fatal(findings)
	}
	document, err := export.AsyncAPI(c, export.Info{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	got := importer.Import("export.json", document, importer.Options{Package: "events"})
	for _, want := range []string{
		"bank: { doc: The bank is slow., at_once: 3 }", "mail.api: { rate: 100 per 1m }",
		"limits: [bank, { limit: mail.api, by: id }]", "limits: off",
	} {
		if strings.Count(string(got.Catalogue), want) != 1 || len(others(got)) > 0 {
			t.Errorf("%q is not there once: %v\n%s", want, got.Findings, got.Catalogue)
		}
	}
	// What a person has broken is left out, and the rest stays.
	broken := importer.Import("export.json", []byte(strings.NewReplacer(`"at_once": 3`, `"at_once": 0`).Replace(string(document))), importer.Options{Package: "events"})
	if text := string(broken.Catalogue); strings.Contains(text, "bank") || !strings.Contains(text, "mail.api: { rate") || len(broken.Findings) == 0 {
		t.Errorf("%v\n%s", broken.Findings, text)
	}
}
