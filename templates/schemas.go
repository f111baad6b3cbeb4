package templates

import (
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/payload/schema"
)

// schemas lists the constructs of schemas.gen.go: what the file of a bus keeps about payloads. Each type stands there
// once, whatever number of events uses it.
func schemas(c *catalog.Catalogue) []jen.Code {
	texts := map[string]string{} // of types, by name
	var events []jen.Code
	for _, e := range c.Events {
		own, types := schema.Parts(e)
		for _, t := range types {
			texts[t.Name] = t.Text
		}
		events = append(events, eventSchema(e, own, types))
	}
	var constructs []jen.Code
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		constructs = append(constructs, typeSchema(name, texts[name]))
	}
	return append(constructs, events...)
}

// eventSchemaName and typeSchemaName are those of the constants.
func eventSchemaName(e *catalog.Event) string { return "schemaOf" + e.GoName }
func typeSchemaName(name string) string       { return "typeSchemaOf" + strings.ReplaceAll(name, ".", "_") }

// typeSchema emits
//
//	const typeSchemaOf<Type> = `<json>`
func typeSchema(name, text string) jen.Code {
	return jen.Const().Id(typeSchemaName(name)).Op("=").Add(raw(text))
}

// eventSchema emits
//
//	// schemaOf<Event> says what payloads <event.name> has. The file of a bus keeps it.
//	const schemaOf<Event> = `<json of the event>` +
//		typeSchemaOf<Type> + "," + … + "}}"
func eventSchema(e *catalog.Event, own string, types []schema.NamedText) jen.Code {
	if types == nil {
		own += schema.End(types)
	}
	text := raw(own)
	for i, t := range types {
		behind := ","
		if i == len(types)-1 {
			behind = schema.End(types)
		}
		text.Op("+").Line().Id(typeSchemaName(t.Name)).Op("+").Lit(behind)
	}
	return comment(eventSchemaName(e) + " says what payloads " + e.Name.V + " has. The file of a bus keeps it.").
		Const().Id(eventSchemaName(e)).Op("=").Add(text)
}

// raw emits a text of JSON between backquotes.
func raw(text string) *jen.Statement { return jen.Id("`" + escapeInJSON(text) + "`") }
