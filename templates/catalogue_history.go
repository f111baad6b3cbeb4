package templates

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

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
