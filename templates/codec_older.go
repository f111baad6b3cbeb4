package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// Stored events can hold fields under former names, and lack fields that have a
// default. ReadJSON knows both. For encoding/json, a struct with such fields has
// methods that bring its JSON up to date first.

// isOlder tells the fields that stored events may hold in another way than they are
// written today.
func isOlder(f *catalog.Field) bool { return f.Was != nil || hasStandIn(f) }

// hasStandIn tells the fields that are decoded as their default if they are missing.
func hasStandIn(f *catalog.Field) bool { return f.Default.Written() && !f.Type.Optional }

// hasOlder tells whether a struct has such a field.
func (s shape) hasOlder() bool {
	for _, f := range s.fields {
		if isOlder(f) {
			return true
		}
	}
	return false
}

// upgradeJSON emits
//
//	// UpgradeJSON returns the JSON of a stored <Type> with the keys of today: …
//	func (<Type>) UpgradeJSON(data []byte) []byte {
//		return wire.Upgrade(
//			data,
//			wire.OlderField{Name: "<field>", Was: []string{"<former>"}, Default: `<json>`},
//		)
//	}
func upgradeJSON(s shape) *jen.Statement {
	fields := []jen.Code{jen.Id("data")}
	for _, f := range s.fields {
		if !isOlder(f) {
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
	return comment("UpgradeJSON returns the JSON of a stored " + s.goName + " with the keys of today: fields that were renamed have their present names, and " +
		"missing ones their defaults.").
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
		Func().Params(jen.Id(s.receiver).Op("*").Id(s.goName)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.Type().Id("plain").Id(s.goName),
		jen.Return(jen.Qual("encoding/json", "Unmarshal").Call(storedJSON(s), jen.Parens(jen.Op("*").Id("plain")).Call(jen.Id(s.receiver)))),
	)
}

// storedJSON emits what encoding/json reads of a struct:
//
//	data
//	<p>.UpgradeJSON(data)
func storedJSON(s shape) *jen.Statement {
	if s.hasOlder() {
		return jen.Id(s.receiver).Dot("UpgradeJSON").Call(jen.Id("data"))
	}
	return jen.Id("data")
}
