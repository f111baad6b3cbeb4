package templates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/output"
)

// testKit makes testkit.gen.go. It is a package of its own, because it imports package
// testing; importPath is the package generated from c.
func testKit(header string, c *catalog.Catalogue, importPath string) (output.File, error) {
	name := testPackage(c.Package.V)
	file := jen.NewFile(name)
	about := "Package " + name + " is a test kit for programs that use package " + c.Package.V +
		". Each test gets a bus in memory, " +
		"virtual time, a record of published events, and ways to cause faults. See package runtimetest."
	for _, line := range commentLines([]string{about}) {
		file.PackageComment("// " + line)
	}
	switch {
	case kitNames[c.Package.V]:
		file.ImportAlias(importPath, "catalogue")
	case path.Base(importPath) == c.Package.V:
		file.ImportName(importPath, c.Package.V)
	default:
		file.ImportAlias(importPath, c.Package.V)
	}
	for _, p := range c.Imports {
		file.ImportAlias(p.ImportPath(), goodAlias(p.Name.V))
	}
	content, err := render(file, header, append([]jen.Code{
		kitNew(importPath), kitRun(importPath), kitSamples(c),
		kitRecorder(importPath, "Published", "Event",
			"the events with payloads of type T that are stored so far, in the order of the log"),
		kitRecorder(importPath, "DeadLetters", "DeadLetter",
			"the dead letters of events with payloads of type T, the oldest dead letter first"),
	}, samples(c, importPath)...))
	if slices.ContainsFunc(everyEvent(c), func(e *catalog.Event) bool { return e.Deprecated.Written() }) {
		content = allowDeprecated(content)
	}
	return output.File{Name: strings.Map(asciiOnly, c.Package.V) + "test/" + output.KitFile, Content: content}, err
}

// testPackage returns the name of the test kit's package for the package called name.
// It drops underscores at the end, because Go gives names that end in _test another
// meaning.
func testPackage(name string) string { return strings.TrimRight(name, "_") + "test" }

// kitNames has the names that testkit.gen.go uses itself. A package with one of these
// names is imported under another name.
var kitNames = map[string]bool{"testing": true, "runtimetest": true, "t": true, "f": true, "opts": true, "kit": true,
	"T": true}

// kitNew emits
//
//	// New returns a kit for this catalogue, …
//	func New(t testing.TB, opts ...runtime.Option) *runtimetest.Kit {
//		t.Helper()
//		return runtimetest.New(t, <events>.Catalogue, opts...)
//	}
func kitNew(importPath string) *jen.Statement {
	return comment("New returns a kit for this catalogue, with a bus that is not started yet; see [runtimetest.New].").
		Func().Id("New").Params(jen.Id("t").Qual("testing", "TB"), kitOptions()).Op("*").Qual(kitPath, "Kit").Block(
		jen.Id("t").Dot("Helper").Call(),
		jen.Return(jen.Qual(kitPath, "New").Call(jen.Id("t"), jen.Qual(importPath, "Catalogue"), jen.Id("opts").Op("..."))),
	)
}

// kitRun emits
//
//	// Run calls f with a kit for this catalogue in a bubble of virtual time; …
//	func Run(t *testing.T, f func(t *testing.T, kit *runtimetest.Kit), opts ...runtime.Option) {
//		t.Helper()
//		runtimetest.Run(t, <events>.Catalogue, f, opts...)
//	}
func kitRun(importPath string) *jen.Statement {
	t := func() *jen.Statement { return jen.Id("t").Op("*").Qual("testing", "T") }
	f := jen.Id("f").Func().Params(t(), jen.Id("kit").Op("*").Qual(kitPath, "Kit"))
	return comment("Run calls f with a kit for this catalogue in a bubble of virtual time; see [runtimetest.Run].").
		Func().Id("Run").Params(t(), f, kitOptions()).Block(
		jen.Id("t").Dot("Helper").Call(),
		jen.Qual(kitPath, "Run").Call(jen.Id("t"), jen.Qual(importPath, "Catalogue"), jen.Id("f"), jen.Id("opts").Op("...")),
	)
}

func kitOptions() *jen.Statement { return jen.Id("opts").Op("...").Add(inRuntime("Option")) }

// kitSamples emits
//
//	// Samples returns a valid payload of every event, in the order of the catalogue.
//	func Samples() []runtime.Payload {
//		return []runtime.Payload{
//			Sample<Event>(),
//		}
//	}
func kitSamples(c *catalog.Catalogue) *jen.Statement {
	var samples []jen.Code
	for _, e := range everyEvent(c) {
		samples = append(samples, jen.Id(sampleName(e)).Call())
	}
	return comment("Samples returns a valid payload of every event, in the order of the catalogue. " +
		"[runtimetest.Kit.Publish] takes them.").
		Func().Id("Samples").Params().Index().Add(inRuntime("Payload")).
		Block(jen.Return(jen.Index().Add(inRuntime("Payload")).Custom(linesInBraces, samples...)))
}

// kitRecorder emits
//
//	// <Name> returns <what>; see [runtimetest.<Name>].
//	func <Name>[T <events>.AnyEvent](kit *runtimetest.Kit) []runtime.<Item>[T] {
//		return runtimetest.<Name>[T](kit)
//	}
func kitRecorder(importPath, name, item, what string) *jen.Statement {
	return comment(name + " returns " + what + "; see [runtimetest." + name + "].").
		Func().Id(name).Types(jen.Id("T").Qual(importPath, "AnyEvent")).
		Params(jen.Id("kit").Op("*").Qual(kitPath, "Kit")).Index().Add(inRuntime(item)).Types(jen.Id("T")).
		Block(jen.Return(jen.Qual(kitPath, name).Types(jen.Id("T")).Call(jen.Id("kit"))))
}

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
