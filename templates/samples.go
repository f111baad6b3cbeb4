package templates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// samples lists the constructs of samples.gen.go.
func samples(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		constructs = append(constructs, sample(e))
	}
	return constructs
}

// sample emits
//
//	// Sample<Event> returns a new copy of the first example of <event.name>.
//	func Sample<Event>() <Event> {
//		return wire.MustParse[<Event>](`<json>`)
//	}
func sample(e *catalog.Event) *jen.Statement {
	which := "a new, valid payload of " + e.Name.V + " with made-up values"
	if len(e.Examples) > 0 {
		which = "a new copy of the first example of " + e.Name.V
	}
	return comment(sampleName(e)+" returns "+which+".", deprecated(e.Deprecated)).
		Func().Id(sampleName(e)).Params().Id(e.GoName).
		Block(jen.Return(inWire("MustParse").Types(jen.Id(e.GoName)).Call(rawJSON(e.Sample()))))
}

func sampleName(e *catalog.Event) string { return "Sample" + e.GoName }

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
