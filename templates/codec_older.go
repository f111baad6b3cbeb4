package templates

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// Stored events can have fields under former names, and lack fields that have a default.
// ReadJSON handles both. For encoding/json, a struct with such fields has methods that
// rename and add them first.

// isOlder reports whether stored events can have a field under a former name or lack it.
func isOlder(f *catalog.Field) bool { return f.Was != nil || hasStandIn(f) }

// hasStandIn reports whether a missing field is decoded as its default.
func hasStandIn(f *catalog.Field) bool { return f.Default.Written() && !f.Type.MayBeNil() }

// hasOlder reports whether isOlder is true for a field of the struct.
func (s shape) hasOlder() bool {
	for _, f := range s.fields {
		if isOlder(f) {
			return true
		}
	}
	return false
}

// hasOlderTwin reports whether isOlder is true for another field whose name differs only in case. wire.Upgrade has to
// know the names of both.
func (s shape) hasOlderTwin(f *catalog.Field) bool {
	return slices.ContainsFunc(s.fields, func(other *catalog.Field) bool {
		return other != f && isOlder(other) && catalog.SameJSONName(other.Name.V, f.Name.V)
	})
}

// upgradeJSON emits
//
//	// UpgradeJSON returns the JSON of a stored <Type> with present names …
//	func (<Type>) UpgradeJSON(data []byte) []byte {
//		return wire.Upgrade(
//			data,
//			wire.OlderField{Name: "<field>", Was: []string{"<former>"}, Default: `<json>`},
//		)
//	}
func upgradeJSON(s shape) *jen.Statement {
	fields := []jen.Code{jen.Id("data")}
	for _, f := range s.fields {
		if !isOlder(f) && !s.hasOlderTwin(f) {
			continue
		}
		parts := []jen.Code{pair("Name", jen.Lit(f.Name.V))}
		if f.Was != nil {
			var was []jen.Code
			for _, name := range f.Was {
				was = append(was, jen.Lit(name.V))
			}
			parts = append(parts, pair("Was", jen.Index().String().Values(was...)))
		}
		if hasStandIn(f) {
			parts = append(parts, pair("Default", jen.Lit(string(f.Default.V))))
		}
		fields = append(fields, inWire("OlderField").Values(parts...))
	}
	return comment("UpgradeJSON returns the JSON of a stored " + s.goName +
		" with present names for renamed fields, and with the defaults of missing fields.").
		Func().Params(jen.Id(s.goName)).Id("UpgradeJSON").Params(jen.Id("data").Index().Byte()).Index().Byte().Block(
		jen.Return(inWire("Upgrade").Custom(linesInParens, fields...)),
	)
}

// unmarshalOlder emits
//
//	// UnmarshalJSON implements json.Unmarshaler.
//	func (<p> *<Type>) UnmarshalJSON(data []byte) error {
//		type plain <Type>
//		return json.Unmarshal(<p>.UpgradeJSON(data), (*plain)(<p>))
//	}
func unmarshalOlder(s shape) *jen.Statement {
	return comment("UnmarshalJSON implements json.Unmarshaler.").
		Func().Params(jen.Id(s.receiver).Op("*").Id(s.goName)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).
		Error().Block(
		jen.Type().Id("plain").Id(s.goName),
		jen.Return(jen.Qual("encoding/json", "Unmarshal").Call(storedJSON(s),
			jen.Parens(jen.Op("*").Id("plain")).Call(jen.Id(s.receiver)))),
	)
}

// storedJSON emits the JSON that encoding/json decodes, one of
//
//	data
//	<p>.UpgradeJSON(data)
func storedJSON(s shape) *jen.Statement {
	if s.hasOlder() {
		return jen.Id(s.receiver).Dot("UpgradeJSON").Call(jen.Id("data"))
	}
	return jen.Id("data")
}
