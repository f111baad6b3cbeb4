package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// headers lists the constructs of headers.gen.go, which is in the root's package.
func headers(c *catalog.Catalogue) []jen.Code {
	all := c.AllHeaders()
	if c.Part != nil || len(all) == 0 {
		return nil
	}
	constructs := []jen.Code{headerNames(all)}
	for _, h := range all {
		constructs = append(constructs, headerOption(h), headerAccessor(h))
	}
	return constructs
}

// headerNames emits
//
//	// The headers of the catalogue: …
//	const (
//		// <doc>
//		Header<Name> string = "<name>"
//	)
func headerNames(all []*catalog.Header) *jen.Statement {
	var names []jen.Code
	for _, h := range all {
		names = append(names, comment(h.Doc).Id(h.Constant()).String().Op("=").Lit(h.Name.V))
	}
	return comment("The headers of the catalogue: keys of the metadata of events whose texts have a type. The bus " +
		"checks them when an event is published.").
		Const().Defs(names...)
}

// headerOption emits
//
//	// With<Name> gives events the header <name>. …
//	//
//	// <doc>
//	func With<Name>(value <type>) runtime.PublishOption {
//		return runtime.WithHeader(Header<Name>, value)
//	}
func headerOption(h *catalog.Header) *jen.Statement {
	return comment(h.Option()+" gives events the header "+h.Name.V+". See [runtime.WithHeader].", h.Doc).
		Func().Id(h.Option()).Params(jen.Id("value").Add(bareType(h.Type))).Add(inRuntime("PublishOption")).
		Block(jen.Return(inRuntime("WithHeader").Call(jen.Id(h.Constant()), jen.Id("value"))))
}

// headerAccessor emits
//
//	// <Name>Of returns the header <name> in the metadata of an event. …
//	func <Name>Of(metadata map[string]string) (<type>, error) {
//		return runtime.HeaderOf[<type>](metadata, Header<Name>)
//	}
func headerAccessor(h *catalog.Header) *jen.Statement {
	return comment(h.Accessor()+" returns the header "+h.Name.V+
		" in the metadata of an event. The error is [runtime.ErrNoHeader] if it is not there. See [runtime.HeaderOf].").
		Func().Id(h.Accessor()).Params(jen.Id("metadata").Map(jen.String()).String()).Params(bareType(h.Type), jen.Error()).
		Block(jen.Return(inRuntime("HeaderOf").Types(bareType(h.Type)).Call(jen.Id("metadata"), jen.Id(h.Constant()))))
}

// headerList emits
//
//	[]declare.Header{
//		{Name: "<name>", Type: "<type>", Required: true, Option: "With<Name>"},
//	}
func headerList(all []*catalog.Header) *jen.Statement {
	var items []jen.Code
	for _, h := range all {
		fields := []jen.Code{pair("Name", jen.Lit(h.Name.V)), pair("Type", jen.Lit(h.Type.Text))}
		if h.Required.V {
			fields = append(fields, pair("Required", jen.True()))
		}
		items = append(items, jen.Values(append(fields, pair("Option", jen.Lit(h.Option())))...))
	}
	return jen.Index().Add(inDeclare("Header")).Custom(linesInBraces, items...)
}
