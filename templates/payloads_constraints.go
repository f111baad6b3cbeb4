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
		if f.Constraints.Pattern.Written() {
			fields = append(fields, jen.Id(f.GoName).Op("*").Qual("regexp", "Regexp"))
			values = append(values, pair(f.GoName, jen.Qual("regexp", "MustCompile").Call(rawText(f.Constraints.Pattern.V.Text))))
		}
	}
	if fields == nil {
		return nil
	}
	return jen.Var().Id(patternsName(s)).Op("=").Struct(fields...).Custom(linesInBraces, values...)
}

func patternsName(s shape) string { return "patternsOf" + s.goName }

// rawText emits a text in back quotes if it can be read there.
func rawText(text string) *jen.Statement {
	if strings.ContainsFunc(text, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }) {
		return jen.Lit(text)
	}
	return jen.Id("`" + text + "`")
}

// checkConstraints emits a line for each constraint of a field, such as one of
//
//	checks.AtLeast(&problems, "<field>", <value>, <least>)
//	problems.MaxLength("<field>", <value>, <most>)
//	problems.Pattern("<field>", <value>, patternsOf<Type>.<Field>)
func checkConstraints(s shape, f *catalog.Field, value *jen.Statement) []jen.Code {
	c, path := f.Constraints, jen.Lit(f.Name.V)
	var checks []jen.Code
	method := func(wanted bool, name string, args ...jen.Code) {
		if wanted {
			checks = append(checks, jen.Id(collector(0)).Dot(name).Call(append([]jen.Code{path}, args...)...))
		}
	}
	unit := map[catalog.Kind]string{catalog.Bytes: "Bytes"}[f.Type.Kind]
	if unit == "" {
		unit = "Length"
	}
	checks = append(checks, checkBounds(f, value)...)
	method(c.MinLength.V > 0, "Min"+unit, value, jen.Lit(c.MinLength.V))
	method(c.MaxLength.Written(), "Max"+unit, value, jen.Lit(c.MaxLength.V))
	method(c.Pattern.Written(), "Pattern", value, jen.Id(patternsName(s)).Dot(f.GoName))
	method(c.Format.Written(), "Format", value, jen.Lit(c.Format.V))
	method(c.MinItems.V > 0, "MinItems", jen.Len(value), jen.Lit(c.MinItems.V))
	method(c.MaxItems.Written(), "MaxItems", jen.Len(value), jen.Lit(c.MaxItems.V))
	if c.Unique.V {
		checks = append(checks, inChecks("Unique").Call(jen.Op("&").Id(collector(0)), path, value))
	}
	return checks
}

// checkBounds emits the checks of min and max.
func checkBounds(f *catalog.Field, value *jen.Statement) []jen.Code {
	var checks []jen.Code
	bound := func(limit catalog.Value[catalog.Bound], function string) {
		switch {
		case !limit.Written():
		case f.Type.Kind == catalog.Decimal:
			checks = append(checks, inChecks("Decimal"+function).Call(jen.Op("&").Id(collector(0)), jen.Lit(f.Name.V), value, jen.Lit(limit.V.Text)))
		default:
			checks = append(checks, inChecks(function).Call(jen.Op("&").Id(collector(0)), jen.Lit(f.Name.V), value, scalar(f.Type.Kind, limit.V.Text)))
		}
	}
	bound(f.Constraints.Min, "AtLeast")
	bound(f.Constraints.Max, "AtMost")
	return checks
}

// scalar emits a constant of a number or duration, from its JSON form without
// quotes.
func scalar(kind catalog.Kind, text string) *jen.Statement {
	if kind == catalog.Duration {
		d, _ := time.ParseDuration(text) // it is valid
		return inRuntime("Duration").Call(duration(d))
	}
	if f, err := strconv.ParseFloat(text, 64); kind == catalog.Float64 && err == nil {
		return number(f)
	}
	return jen.Id(text)
}
