package templates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// samples lists the functions that return a payload of each event. They are in the test kit: what a program is built
// of does not need them.
func samples(c *catalog.Catalogue, importPath string) []jen.Code {
	var constructs []jen.Code
	for _, e := range everyEvent(c) {
		constructs = append(constructs, sample(e, packageOf(e, importPath)))
	}
	return constructs
}

// packageOf returns the import path of the package that has an event. That of the root is importPath.
func packageOf(e *catalog.Event, importPath string) string {
	if e.Package != nil {
		return e.Package.ImportPath()
	}
	return importPath
}

// sample emits
//
//	// Sample<Event> returns a new copy of the first example of <event.name>.
//	func Sample<Event>() <events>.<Event> {
//		return wire.MustParse[<events>.<Event>](`<json>`)
//	}
func sample(e *catalog.Event, importPath string) *jen.Statement {
	which := "a new, valid payload of " + e.Name.V + " with made-up values"
	if len(e.Examples) > 0 {
		which = "a new copy of the first example of " + e.Name.V
	}
	return comment(sampleName(e)+" returns "+which+".", deprecated(e.Deprecated)).
		Func().Id(sampleName(e)).Params().Qual(importPath, e.GoName).
		Block(jen.Return(inWire("MustParse").Types(jen.Qual(importPath, e.GoName)).Call(rawJSON(e.Sample()))))
}

// sampleName returns the name of an event's function. Packages below the root can have events of the same Go names.
func sampleName(e *catalog.Event) string {
	name := "Sample" + e.GoName
	if e.Package != nil {
		first, size := utf8.DecodeRuneInString(e.Package.Name.V)
		name += "Of" + string(unicode.ToUpper(first)) + e.Package.Name.V[size:]
	}
	return name
}

// rawJSON emits JSON as a raw string, with a line for each field.
func rawJSON(text json.RawMessage) *jen.Statement {
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "\t", "\t"); err != nil {
		panic(fmt.Sprintf("templates: the sample %s is not JSON: %v", text, err))
	}
	return jen.Id("`" + escapeInJSON(indented.String()) + "`")
}

// escapeInJSON replaces back quotes and invisible characters with JSON escapes. They
// occur only inside strings, so the JSON keeps its meaning.
func escapeInJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '`' || !unicode.IsPrint(r) && r != '\n' && r != '\t':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
