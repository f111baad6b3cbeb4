package templates

import (
	"path/filepath"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// Contract is the version of the contract between generated code and package runtime.
// Every change of what generated code needs of runtime raises it, together with
// runtime.NewestContract. It is a constant here, because importing runtime would compile
// a database into the command.
const Contract = 1

// catalogue lists the constructs of catalogue.gen.go.
func catalogue(c *catalog.Catalogue) []jen.Code {
	constructs := []jen.Code{contract(), contractCheck()}
	if len(c.ErrorClasses) > 0 {
		constructs = append(constructs, errorClasses(c))
	}
	if len(c.Limits) > 0 {
		constructs = append(constructs, limitNames(c))
	}
	if common := shared(c); common != nil {
		constructs = append(constructs, common)
	}
	constructs = append(constructs,
		comment("Each event type is made by a function without type parameters, and converted: a generic function would "+
			"be compiled "+
			"again for each payload."))
	for _, e := range c.Events {
		constructs = append(constructs, descriptor(e))
	}
	if c.Part != nil {
		return constructs // the root's package has the rest
	}
	return append(constructs, catalogueVar(c), open())
}

// everyEvent lists the events of all packages.
func everyEvent(c *catalog.Catalogue) []*catalog.Event {
	if c.All != nil {
		return c.All
	}
	return c.Events
}

// contract emits
//
//	// contract is …
//	const contract = <n>
func contract() *jen.Statement {
	return comment("contract is the version of the agreement between this code and the runtime package.").
		Const().Id("contract").Op("=").Lit(Contract)
}

// contractCheck emits
//
//	// If one of these lines does not compile, …
//	const (
//		_ = runtime.FitsGenerated(contract - runtime.OldestContract)
//		_ = runtime.FitsGenerated(runtime.NewestContract - contract)
//	)
func contractCheck() *jen.Statement {
	check := func(minuend, subtrahend jen.Code) jen.Code {
		return jen.Id("_").Op("=").Add(inRuntime("FitsGenerated")).
			Call(jen.Add(minuend).Op("-").Add(subtrahend))
	}
	return comment("If a line below does not compile, the versions of this code and of the runtime package do not fit.").
		Const().Defs(
		comment("This code is older than the runtime understands: run go generate.").
			Add(check(jen.Id("contract"), inRuntime("OldestContract"))),
		comment("The runtime is older than this code: run go get -u "+modulePath+".").
			Add(check(inRuntime("NewestContract"), jen.Id("contract"))),
	)
}

// catalogueVar emits
//
//	// Catalogue holds every event type of <events.yaml>.
//	var Catalogue = runtime.NewCatalogue(
//		<Event>Type,
//	)
//
// followed by the limits, the subscriptions for patterns and the names of CloudEvents, if there are some. The types are
// listed as they are: Any returns an interface, and the compiler takes 6 ms and 9 kB for each that is converted to a
// Definition.
func catalogueVar(c *catalog.Catalogue) *jen.Statement {
	var types []jen.Code
	for _, e := range everyEvent(c) {
		if e.Package != nil {
			types = append(types, jen.Qual(e.Package.ImportPath(), descriptorName(e)))
		} else {
			types = append(types, jen.Id(descriptorName(e)))
		}
	}
	return comment("Catalogue holds every event type of "+oneLine(filepath.Base(c.File))+".").
		Var().Id("Catalogue").Op("=").Add(inRuntime("NewCatalogue")).Custom(linesInParens,
		types...).Add(withLimits(c)).Add(withSubscriptions(c)).Add(withCloudEvents(c))
}

// open emits
//
//	// Open opens the bus in the file at path, and creates the file if there is none. …
//	func Open(ctx context.Context, path string, opts ...runtime.Option) (*runtime.Bus, error) {
//		return runtime.Open(ctx, path, Catalogue, opts...)
//	}
func open() *jen.Statement {
	return comment("Open opens the bus whose events are in the file at path, and creates the file if there is none. "+
		"Call Shutdown on the bus when done with it. See [runtime.Open].").
		Func().Id("Open").
		Params(
			jen.Id("ctx").Qual("context", "Context"),
			jen.Id("path").String(),
			jen.Id("opts").Op("...").Add(inRuntime("Option")),
		).
		Params(jen.Op("*").Add(inRuntime("Bus")), jen.Error()).
		Block(jen.Return(inRuntime("Open").Call(
			jen.Id("ctx"), jen.Id("path"), jen.Id("Catalogue"), jen.Id("opts").Op("..."),
		)))
}

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
	}{{"Source", c.CloudEvents.Source}, {"TypePrefix", c.CloudEvents.TypePrefix},
		{"DataSchema", c.CloudEvents.DataSchema}} {
		if f.value.Written() {
			fields = append(fields, pair(f.name, jen.Lit(f.value.V)))
		}
	}
	return jen.Dot("WithCloudEvents").Call(inRuntime("CloudEvents").Custom(linesInBraces, fields...))
}

// upcasts emits
//
//	[]runtime.Upcast{
//		runtime.UpcastFrom[<Event>V1, <Event>V2](1, Upcast<Event>V1),
//		runtime.UpcastFrom[<Event>V2, <Event>](2, Upcast<Event>V2),
//	}
//
// The functions are the user's: without them the code does not compile.
func upcasts(e *catalog.Event) *jen.Statement {
	var steps []jen.Code
	for i, old := range e.History {
		steps = append(steps, inRuntime("UpcastFrom").Types(jen.Id(old.Type.GoName), jen.Id(nextShape(e, i))).
			Call(jen.Lit(old.Version.V), jen.Id(old.UpcastName())))
	}
	return jen.Index().Add(inRuntime("Upcast")).Custom(linesInBraces, steps...)
}

// nextShape is what an old payload becomes in one step.
func nextShape(e *catalog.Event, i int) string {
	if i+1 < len(e.History) {
		return e.History[i+1].Type.GoName
	}
	return e.GoName
}

// upcastsWanted says in a comment which functions the user writes.
func upcastsWanted(e *catalog.Event) string {
	if len(e.History) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Functions that you write convert stored events of older versions. Put them into a file of your own " +
		"in this package:\n")
	for i, old := range e.History {
		b.WriteString("\n\tfunc " + old.UpcastName() + "(old " + old.Type.GoName + ") (" + nextShape(e, i) + ", error)")
	}
	return b.String()
}

// names emits a list of texts.
func names(texts []catalog.Value[string]) *jen.Statement {
	var items []jen.Code
	for _, text := range texts {
		items = append(items, jen.Lit(text.V))
	}
	return jen.Index().String().Values(items...)
}

// version emits the version of an event's payload.
func version(e *catalog.Event) *jen.Statement { return jen.Lit(e.Version.V) }
