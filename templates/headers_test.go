package templates

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
)

func TestHeadersAreFunctionsOnceForACatalogue(t *testing.T) {
	c := parsed(t, `
headers: { tenant: { type: string, required: true, doc: Whose data it is. } }
policies:
  order.*: { headers: { X-Page: { type: int, go_name: Page }, tenant: { required: false } } }
events:
  order.placed: {}
  order.paid: {}
`)
	emits(t, `
// The headers of the catalogue: keys of the metadata of events whose texts have
// a type. The bus checks them when an event is published.
const (
	// Whose data it is.
	HeaderTenant string = "tenant"
	HeaderPage   string = "X-Page"
)

// WithTenant gives events the header tenant. See [runtime.WithHeader].
//
// Whose data it is.
func WithTenant(value string) runtime.PublishOption {
	return runtime.WithHeader(HeaderTenant, value)
}

// TenantOf returns the header tenant in the metadata of an event. The error is
// [runtime.ErrNoHeader] if it is not there. See [runtime.HeaderOf].
func TenantOf(metadata map[string]string) (string, error) {
	return runtime.HeaderOf[string](metadata, HeaderTenant)
}

// WithPage gives events the header X-Page. See [runtime.WithHeader].
func WithPage(value int) runtime.PublishOption {
	return runtime.WithHeader(HeaderPage, value)
}

// PageOf returns the header X-Page in the metadata of an event. The error is
// [runtime.ErrNoHeader] if it is not there. See [runtime.HeaderOf].
func PageOf(metadata map[string]string) (int, error) {
	return runtime.HeaderOf[int](metadata, HeaderPage)
}
`, headers(c)...)
	emits(t, `
[]declare.Header{
	{Name: "X-Page", Type: "int", Option: "WithPage"},
	{Name: "tenant", Type: "string", Option: "WithTenant"},
}
`, headerList(c.Policies[0].Headers))
}

// A change of a header changes its own functions, and one place in catalogue.gen.go.
func TestAHeaderIsNotRepeatedAtEvents(t *testing.T) {
	with := func(required string) string {
		c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: events\nheaders: { tenant: { type: string, required: "+required+" } }\nevents: { a.b: {}, a.c: {}, a.d: {} }\n"))
		if findings != nil {
			t.Fatal(findings)
		}
		var all strings.Builder
		for _, file := range generate(t, c) {
			all.Write(file.Content)
		}
		return all.String()
	}
	if got := strings.Count(with("true"), "Required: true"); got != 1 {
		t.Errorf("it is written %d times that the header is required", got)
	}
	if strings.ReplaceAll(with("true"), ", Required: true", "") != with("false") {
		t.Error("something else depends on it")
	}
}
