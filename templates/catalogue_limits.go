package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// limitNames emits
//
//	// The limits of the catalogue. …
//	const (
//		// <doc>
//		Limit<Name> string = "<name>"
//	)
func limitNames(c *catalog.Catalogue) *jen.Statement {
	var names []jen.Code
	for _, l := range c.Limits {
		name := jen.Id(l.GoName).String().Op("=").Lit(l.Name)
		if l.Doc != "" {
			name = comment(l.Doc).Add(name)
		}
		names = append(names, name)
	}
	return comment("The limits of the catalogue. The settings say which deliveries wait for their turn in them; " +
		"[runtime.Bus.Limiter] is for code outside of handlers.").
		Const().Defs(names...)
}

// withLimits emits
//
//	.WithLimits(
//		declare.Limit{<fields>},
//	)
//
// or nothing if the catalogue has no limits.
func withLimits(c *catalog.Catalogue) *jen.Statement {
	if len(c.Limits) == 0 {
		return jen.Null()
	}
	var limits []jen.Code
	for _, l := range c.Limits {
		limits = append(limits, limit(l))
	}
	return jen.Dot("WithLimits").Custom(linesInParens, limits...)
}

// limit emits
//
//	declare.Limit{Name: Limit<Name>, Doc: "<doc>", AtOnce: <n>, Rate: <n>, Per: <duration>}
//
// without what is not written.
func limit(l *catalog.Limit) *jen.Statement {
	fields := []jen.Code{pair("Name", jen.Id(l.GoName))}
	add := func(on bool, field string, value jen.Code) {
		if on {
			fields = append(fields, pair(field, value))
		}
	}
	add(l.Doc != "", "Doc", jen.Lit(l.Doc))
	add(l.AtOnce > 0, "AtOnce", jen.Lit(l.AtOnce))
	add(l.Rate > 0, "Rate", jen.Lit(l.Rate))
	add(l.Rate > 0, "Per", duration(l.Per))
	return inDeclare("Limit").Values(fields...)
}

// limitUses emits
//
//	[]declare.LimitUse{{Limit: "<name>"}, {Limit: "<name>", By: "<path>"}}
func limitUses(uses []*catalog.LimitUse) *jen.Statement {
	var items []jen.Code
	for _, use := range uses {
		fields := []jen.Code{pair("Limit", jen.Lit(use.Limit.Name))}
		if use.By.Written() {
			fields = append(fields, pair("By", jen.Lit(use.By.V)))
		}
		items = append(items, jen.Values(fields...))
	}
	return jen.Index().Add(inDeclare("LimitUse")).Values(items...)
}

// limitKeys emits
//
//	map[string]string{
//		"<path>": "<Field.Field>",
//	}
func limitKeys(e *catalog.Event) *jen.Statement {
	var items []jen.Code
	for _, key := range e.LimitKeys {
		items = append(items, jen.Lit(key.Path).Op(":").Lit(fieldPath(key.Fields...)))
	}
	return jen.Map(jen.String()).String().Custom(linesInBraces, items...)
}
