package compiletest

import (
	"path/filepath"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
)

func TestAProgramKeepsToTheHeadersOfItsCatalogue(t *testing.T) {
	short.Visit(t, "it compiles programs")
	c, findings, err := parse.Load("testdata/headers/events.yaml")
	if err != nil || findings != nil {
		t.Fatal(err, findings)
	}
	module := newModule(t)
	addPackage(t, module, "events", c)
	module.add("main.go", string(read(t, "testdata/headers/main.go")))
	module.run("vet", "./...")
	const want = `this order.placed has no header tenant, which is required: give Publish the option WithTenant
this order.placed has a header request_id that is no uuid: "7" is not a UUID: use the option WithRequestID
<nil>
order 2 of acme <nil> 00000000-0000-0000-0000-000000000000 true
in the handler: this PaymentReceived has no header tenant, which is required: give Publish the option WithTenant
<nil>
<nil>
this PaymentReceived has a header amount that is no decimal: "1,50" is not a decimal number, such as -12.50: use the option WithAmount
`
	if diff := cmp.Diff(want, module.run("run", ".", filepath.Join(t.TempDir(), "shop.db"))); diff != "" {
		t.Error(diff)
	}
}
