package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// withCloudEvents emits
//
//	.WithCloudEvents(runtime.CloudEvents{
//		Source:     "<uri>",
//		TypePrefix: "<prefix>",
//		DataSchema: "<uri>",
//	})
//
// without what is not written, or nothing if the catalogue does not say what events are called outside.
func withCloudEvents(c *catalog.Catalogue) *jen.Statement {
	if c.CloudEvents == nil {
		return jen.Null()
	}
	var fields []jen.Code
	for _, f := range []struct {
		name  string
		value catalog.Value[string]
	}{{"Source", c.CloudEvents.Source}, {"TypePrefix", c.CloudEvents.TypePrefix}, {"DataSchema", c.CloudEvents.DataSchema}} {
		if f.value.Written() {
			fields = append(fields, pair(f.name, jen.Lit(f.value.V)))
		}
	}
	return jen.Dot("WithCloudEvents").Call(inRuntime("CloudEvents").Custom(linesInBraces, fields...))
}
