package templates

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// patterns emits the regular expressions of a struct, which are compiled once:
//
//	var <patternsOf><Type> = struct {
//		<Field> *regexp.Regexp
//	}{
//		<Field>: regexp.MustCompile(`<pattern>`),
//	}
//
// It returns nil if the struct has none.
func patterns(s shape) jen.Code {
	var fields, values []jen.Code
	for _, f := range s.fields {
		t, c := f.Type, f.Constraints
		for depth := 0; t.Scalar == nil; depth++ {
			if c.Pattern.Written() {
				name := patternOf(f, depth)
				fields = append(fields, jen.Id(name).Op("*").Qual("regexp", "Regexp"))
				values = append(values, pair(name, jen.Qual("regexp", "MustCompile").Call(rawText(c.Pattern.V.Text))))
			}
			if c.Each == nil {
				break
			}
			t, c = t.Elem, *c.Each
		}
	}
	if fields == nil {
		return nil
	}
	return jen.Var().Id(patternsName(s)).Op("=").Struct(fields...).Custom(linesInBraces, values...)
}

// patternOf names the pattern of a field, or of what is in so many lists and maps of it: itemsOfTags. No field has
// such a name, because theirs begin with a capital.
func patternOf(f *catalog.Field, depth int) string {
	switch depth {
	case 0:
		return f.GoName
	case 1:
		return "itemsOf" + f.GoName
	}
	return "items" + strconv.Itoa(depth) + "Of" + f.GoName
}

func patternsName(s shape) string { return "patternsOf" + s.goName }

// rawText emits a text in back quotes if it can be read there.
func rawText(text string) *jen.Statement {
	if strings.ContainsFunc(text, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }) {
		return jen.Lit(text)
	}
	return jen.Id("`" + text + "`")
}

// checkConstraints emits a line for each constraint of a value, such as one of
//
//	problems.IntAtLeast("<field>", int64(<value>), <least>)
//	problems.MaxLength("<field>", <value>, <most>)
//	problems.Pattern("<field>", <value>, patternsOf<Type>.<Field>)
//
// and a loop for those of what is in a list or a map; see [checkEach].
func checkConstraints(t *catalog.TypeRef, c catalog.Constraints, value *jen.Statement, at place) []jen.Code {
	if t.Scalar != nil {
		return nil // its method Validate checks them
	}
	var checks []jen.Code
	method := func(wanted bool, name string, args ...jen.Code) {
		if wanted {
			checks = append(checks, jen.Id(collector(at.depth)).Dot(name).Call(append([]jen.Code{at.path}, args...)...))
		}
	}
	unit := map[catalog.Kind]string{catalog.Bytes: "Bytes"}[t.Kind]
	if unit == "" {
		unit = "Length"
	}
	if t.Go != nil {
		value = inChecks("Plain").Types(usualType(t)).Call(value)
	}
	checks = append(checks, checkBounds(t, c, value, at)...)
	method(c.MinLength.V > 0, "Min"+unit, value, jen.Lit(c.MinLength.V))
	method(c.MaxLength.Written(), "Max"+unit, value, jen.Lit(c.MaxLength.V))
	method(c.Pattern.Written(), "Pattern", value, jen.Id(at.patterns).Dot(patternOf(at.field, at.inside)))
	method(c.Format.Written(), "Format", value, jen.Lit(c.Format.V))
	method(c.MinItems.V > 0, "MinItems", jen.Len(value), jen.Lit(c.MinItems.V))
	method(c.MaxItems.Written(), "MaxItems", jen.Len(value), jen.Lit(c.MaxItems.V))
	if c.Unique.V {
		checks = append(checks, checkUnique(t.Elem, value, at))
	}
	return checks
}

// checkUnique emits the check that no two items of a list are equal. The compiler makes generic functions again for
// each type, so texts, which are frequent, have a method.
func checkUnique(item *catalog.TypeRef, list *jen.Statement, at place) jen.Code {
	generic := func(name string) jen.Code {
		return inChecks(name).Call(jen.Op("&").Id(collector(at.depth)), at.path, list)
	}
	switch {
	case item.Go != nil:
		return generic("UniqueTexts") // == may not tell whether two are equal
	case item.Kind == catalog.String && item.Scalar == nil:
		return jen.Id(collector(at.depth)).Dot("UniqueStrings").Call(at.path, list)
	}
	return generic("Unique")
}

// checkBounds emits the checks of min and max, such as
//
//	problems.IntAtLeast("<field>", int64(<value>), <least>)
func checkBounds(t *catalog.TypeRef, c catalog.Constraints, value *jen.Statement, at place) []jen.Code {
	var checks []jen.Code
	bound := func(limit catalog.Value[catalog.Bound], method string) {
		if limit.Written() {
			of := boundOf(t.Kind)
			method = of.name + method
			checks = append(checks, jen.Id(collector(at.depth)).Dot(method).Call(at.path, of.value(value),
				of.bound(limit.V.Text)))
		}
	}
	bound(c.Min, "AtLeast")
	bound(c.Max, "AtMost")
	return checks
}

// bounds says how values of a kind are compared with a bound.
type bounds struct {
	name  string // of the method, at its beginning
	value func(*jen.Statement) *jen.Statement
	bound func(text string) *jen.Statement
}

func boundOf(kind catalog.Kind) bounds {
	as := func(of *jen.Statement) func(*jen.Statement) *jen.Statement {
		return func(value *jen.Statement) *jen.Statement { return of.Clone().Call(value) }
	}
	itself := func(value *jen.Statement) *jen.Statement { return value }
	number := func(text string) *jen.Statement { return scalar(kind, text) }
	switch kind {
	case catalog.Decimal:
		return bounds{"Decimal", as(jen.String()), func(text string) *jen.Statement { return jen.Lit(text) }}
	case catalog.Duration:
		return bounds{"Duration", as(jen.Qual("time", "Duration")), durationOf}
	case catalog.Float64:
		return bounds{"Float", itself, number}
	case catalog.Uint64:
		return bounds{"Uint", itself, number}
	case catalog.Int64:
		return bounds{"Int", itself, number}
	}
	return bounds{"Int", as(jen.Int64()), number}
}

// scalar emits a constant of a number or duration, from its JSON form without
// quotes.
func scalar(kind catalog.Kind, text string) *jen.Statement {
	if kind == catalog.Duration {
		return inRuntime("Duration").Call(durationOf(text))
	}
	if f, err := strconv.ParseFloat(text, 64); kind == catalog.Float64 && err == nil {
		return number(f)
	}
	return jen.Id(text)
}

// durationOf emits a duration from its text.
func durationOf(text string) *jen.Statement {
	d, _ := time.ParseDuration(text) // it is valid
	return duration(d)
}
