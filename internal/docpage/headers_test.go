package docpage

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
)

func TestAPageShowsTheHeadersOfAnEvent(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(`version: 1
package: events
headers: { tenant: { type: string, required: true, doc: "Whose <b>data</b> it is." } }
policies:
  order.*: { headers: { tenant: { required: false } } }
events: { order.placed: {}, user.created: {} }
`))
	if findings != nil {
		t.Fatal(findings)
	}
	page := rendered(t, c)
	if text := said(entryOf(t, page, "event-user.created")); !strings.Contains(text, "Header tenant string, required Whose <b>data</b> it is.") {
		t.Errorf("got %s", text)
	}
	if text := said(entryOf(t, page, "event-order.placed")); !strings.Contains(text, "Header tenant string") || strings.Contains(text, "required") {
		t.Errorf("got %s", text)
	}
}
