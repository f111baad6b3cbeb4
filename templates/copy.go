package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// copies lists the constructs of copy.gen.go, in the order of payloads.gen.go.
func copies(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		constructs = append(constructs, cloneStruct(eventShape(e)), equalStruct(eventShape(e)))
	}
	for _, t := range c.Types {
		switch {
		case t.IsUnion():
			constructs = append(constructs, cloneUnion(t), equalUnion(t))
		case t.IsStruct():
			constructs = append(constructs, cloneStruct(typeShape(t)), equalStruct(typeShape(t)))
		}
	}
	for _, t := range c.ForeignUnions() {
		constructs = append(constructs, cloneUnion(t), equalUnion(t))
	}
	return constructs
}

// cloneStruct emits
//
//	// Clone returns a deep copy of <p>.
//	func (<p> <Type>) Clone() <Type> {
//		deep.Separate(&<p>)
//		return <p>
//	}
//
// and for a struct with a union or a type of a person in it
//
//	func (<p> <Type>) Clone() <Type> {
//		<p>.<Field> = <copy of p.Field>
//		return <p>
//	}
//
// and for a struct that can contain itself
//
//	func (<v> <Type>) Clone() <Type> { return <v>.clone(new(deep.Descent)) }
//
//	func (<v> <Type>) clone(d *deep.Descent) <Type> {
//		d.MustEnter()
//		defer d.Leave()
//		<as above>
//	}
func cloneStruct(s shape) *jen.Statement {
	var body []jen.Code
	for _, f := range s.fields {
		if needsClone(f.Type) {
			field := jen.Id(s.receiver).Dot(f.GoName)
			body = append(body, field.Clone().Op("=").Add(cloneField(f.Type, field, s.recursive)))
		}
	}
	body = append(body, jen.Return(jen.Id(s.receiver)))
	if len(body) > 1 && s.plain() {
		body = []jen.Code{inDeep("Separate").Call(jen.Op("&").Id(s.receiver)), jen.Return(jen.Id(s.receiver))}
	}
	method := func(name string, params ...jen.Code) *jen.Statement {
		return jen.Func().Params(jen.Id(s.receiver).Id(s.goName)).Id(name).Params(params...).Id(s.goName)
	}
	clone := comment("Clone returns a deep copy of " + s.receiver + "." + panics(s)).Add(method("Clone"))
	switch {
	case len(body) == 1:
		return clone.Custom(oneLineBody, body...)
	case !s.recursive:
		return clone.Block(body...)
	}
	return clone.Custom(oneLineBody, jen.Return(jen.Id(s.receiver).Dot("clone").Call(newDescent()))).Line().Line().
		Add(method("clone", descentParam())).Block(append(descend(), body...)...)
}

// panics returns the sentence about panics for the comment of a recursive method.
func panics(s shape) string {
	if s.recursive {
		return " It panics if " + s.receiver + " contains itself."
	}
	return ""
}

// descend emits the first lines of a recursive method.
func descend() []jen.Code {
	return []jen.Code{jen.Id("d").Dot("MustEnter").Call(), jen.Defer().Id("d").Dot("Leave").Call()}
}

// cloneField emits the copy of a field, for one that is a pointer as one of
//
//	deep.Pointer(<value>)
//	deep.PointerFunc(<value>, <clone function>)
func cloneField(t *catalog.TypeRef, value *jen.Statement, within bool) *jen.Statement {
	if !t.MayBeNil() || hasNil(t) {
		return clone(t, value, within)
	}
	bare := t.Bare()
	if !needsClone(bare) {
		return inDeep("Pointer").Call(value)
	}
	return inDeep("PointerFunc").Call(value, cloneFunc(bare, within))
}

// clone emits one of
//
//	<value>.Clone()
//	clone<Union>(<value>)
//	slices.Clone(<value>)
//	deep.List(<value>, <clone function of its items>)
//
// and the same for maps and custom types.
func clone(t *catalog.TypeRef, value *jen.Statement, within bool) *jen.Statement {
	descent := []jen.Code{}
	if descends(within, t) {
		descent = append(descent, jen.Id("d"))
	}
	switch {
	case isCustom(t):
		return inDeep("Custom").Call(value)
	case isUnion(t):
		if hasDescent(t.Named) && !within {
			descent = append(descent, newDescent())
		}
		return jen.Id(cloneUnionName(t.Named)).Call(append([]jen.Code{value}, descent...)...)
	case isStruct(t) && len(descent) > 0:
		return value.Clone().Dot("clone").Call(descent...)
	case isStruct(t):
		return value.Clone().Dot("Clone").Call()
	case t.Kind == catalog.List && needsClone(t.Elem):
		return inDeep("List").Call(value, cloneFunc(t.Elem, within))
	case t.Kind == catalog.Map && needsClone(t.Elem):
		return inDeep("Map").Call(value, cloneFunc(t.Elem, within))
	case t.Kind == catalog.Map:
		return jen.Qual("maps", "Clone").Call(value)
	}
	return jen.Qual("slices", "Clone").Call(value)
}

// cloneFunc emits one of
//
//	<Type>.Clone
//	clone<Union>
//	deep.Custom
//	func(item <Type>) <Type> { return <copy of item> }
func cloneFunc(t *catalog.TypeRef, within bool) jen.Code {
	switch {
	case isCustom(t):
		return inDeep("Custom")
	case isUnion(t) && !hasDescent(t.Named):
		return jen.Id(cloneUnionName(t.Named))
	case isStruct(t) && !descends(within, t):
		return typeName(t.Named).Dot("Clone")
	}
	return jen.Func().Params(jen.Id("item").Add(bareType(t))).Add(bareType(t)).
		Custom(oneLineBody, jen.Return(clone(t, jen.Id("item"), within)))
}

// cloneUnion emits
//
//	func clone<Union>(v <Union>) <Union> {
//		switch v := v.(type) {
//		case <Variant>:
//			return v.Clone()
//		}
//		return v
//	}
//
// with only those variants for which an assignment is not a deep copy.
func cloneUnion(t *catalog.Type) jen.Code {
	var cases []jen.Code
	for _, v := range t.Variants {
		if ref := structRef(v.Type); needsClone(ref) {
			cases = append(cases, jen.Case(typeName(v.Type)).Block(jen.Return(clone(ref, jen.Id(valueReceiver), t.Recursive))))
		}
	}
	if cases == nil {
		return jen.Null()
	}
	return jen.Func().Id(cloneUnionName(t)).Params(unionParams(t, valueReceiver)...).Add(typeName(t)).
		Block(variantSwitch(cases), jen.Return(jen.Id(valueReceiver)))
}

// equalStruct emits
//
//	// Equal reports whether <p> and other have the same content. …
//	func (<p> <Type>) Equal(other <Type>) bool { return deep.Equal(&<p>, &other) }
//
// with == for a struct that Go can compare, and for one with a union or a type of a person in it
//
//	func (<p> <Type>) Equal(other <Type>) bool {
//		return <p>.<Field> == other.<Field> &&
//			<comparison of the next>
//	}
//
// and for a struct that can contain itself
//
//	func (<v> <Type>) Equal(other <Type>) bool { return <v>.equal(other, new(deep.Descent)) }
//
//	func (<v> <Type>) equal(other <Type>, d *deep.Descent) bool {
//		d.MustEnter()
//		defer d.Leave()
//		return <as above>
//	}
func equalStruct(s shape) *jen.Statement {
	result, remark := jen.True(), " Times are compared as moments, and nil equals an empty list or map."
	switch {
	case len(s.fields) == 0:
		return comment("Equal returns true: all values of "+s.goName+" are equal.").
			Func().Params(jen.Id(s.goName)).Id("Equal").Params(jen.Id(s.goName)).Bool().Custom(oneLineBody, jen.Return(result))
	case s.all(isComparable):
		result, remark = jen.Id(s.receiver).Op("==").Id("other"), ""
	case s.plain():
		result = inDeep("Equal").Call(jen.Op("&").Id(s.receiver), jen.Op("&").Id("other"))
	default:
		for i, f := range s.fields {
			one := equalField(f.Type, jen.Id(s.receiver).Dot(f.GoName), jen.Id("other").Dot(f.GoName), s.recursive)
			if i == 0 {
				result = one
			} else {
				result.Op("&&").Line().Add(one)
			}
		}
	}
	method := func(name string, more ...jen.Code) *jen.Statement {
		params := append([]jen.Code{jen.Id("other").Id(s.goName)}, more...)
		return jen.Func().Params(jen.Id(s.receiver).Id(s.goName)).Id(name).Params(params...).Bool()
	}
	equal := comment("Equal reports whether " + s.receiver + " and other have the same content." + remark + panics(s)).Add(method("Equal"))
	switch {
	case s.all(isComparable), s.plain():
		return equal.Custom(oneLineBody, jen.Return(result))
	case !s.recursive:
		return equal.Block(jen.Return(result))
	}
	return equal.Custom(oneLineBody, jen.Return(jen.Id(s.receiver).Dot("equal").Call(jen.Id("other"), newDescent()))).Line().Line().
		Add(method("equal", descentParam())).Block(append(descend(), jen.Return(result))...)
}

// equalField emits the comparison of a field, for one that is a pointer as one of
//
//	deep.EqualPointers(<a>, <b>)
//	deep.EqualPointersFunc(<a>, <b>, <comparison function>)
func equalField(t *catalog.TypeRef, a, b *jen.Statement, within bool) *jen.Statement {
	if !t.MayBeNil() || hasNil(t) {
		return equal(t, a, b, within)
	}
	bare := t.Bare()
	if isComparable(bare) {
		return inDeep("EqualPointers").Call(a, b)
	}
	return inDeep("EqualPointersFunc").Call(a, b, equalFunc(bare, within))
}

// equal emits one of
//
//	<a> == <b>
//	<a>.Equal(<b>)
//	equal<Union>(<a>, <b>)
//	slices.Equal(<a>, <b>)
//	slices.EqualFunc(<a>, <b>, <comparison function of the items>)
//
// and the same for bytes, maps and custom types.
func equal(t *catalog.TypeRef, a, b *jen.Statement, within bool) *jen.Statement {
	var descent []jen.Code
	if descends(within, t) {
		descent = append(descent, jen.Id("d"))
	}
	with := func(args ...jen.Code) []jen.Code { return append(args, descent...) }
	switch {
	case isCustom(t), t.Go != nil:
		return inDeep("EqualCustom").Call(a, b)
	case isUnion(t):
		if hasDescent(t.Named) && !within {
			descent = append(descent, newDescent())
		}
		return jen.Id(equalUnionName(t.Named)).Call(with(a, b)...)
	case isStruct(t) && len(descent) > 0:
		return a.Clone().Dot("equal").Call(with(b)...)
	case isStruct(t) && !isComparable(t), t.Kind == catalog.Time:
		return a.Clone().Dot("Equal").Call(b)
	case t.Kind == catalog.Bytes, t.Kind == catalog.JSON:
		return jen.Qual("bytes", "Equal").Call(a, b)
	case t.Kind == catalog.List:
		return equalItems("slices", t, a, b, within)
	case t.Kind == catalog.Map:
		return equalItems("maps", t, a, b, within)
	}
	return a.Clone().Op("==").Add(b)
}

func equalItems(pkg string, t *catalog.TypeRef, a, b *jen.Statement, within bool) *jen.Statement {
	if isComparable(t.Elem) {
		return jen.Qual(pkg, "Equal").Call(a, b)
	}
	return jen.Qual(pkg, "EqualFunc").Call(a, b, equalFunc(t.Elem, within))
}

// equalFunc emits one of
//
//	<Type>.Equal
//	equal<Union>
//	deep.EqualCustom
//	func(a, b <Type>) bool { return <comparison> }
func equalFunc(t *catalog.TypeRef, within bool) jen.Code {
	switch {
	case isCustom(t), t.Go != nil:
		return inDeep("EqualCustom")
	case isUnion(t) && !hasDescent(t.Named):
		return jen.Id(equalUnionName(t.Named))
	case t.Kind == catalog.Time, isStruct(t) && !descends(within, t):
		return bareType(t).Dot("Equal")
	}
	return jen.Func().Params(jen.List(jen.Id("a"), jen.Id("b")).Add(bareType(t))).Bool().
		Custom(oneLineBody, jen.Return(equal(t, jen.Id("a"), jen.Id("b"), within)))
}

// equalUnion emits
//
//	func equal<Union>(a, b <Union>) bool {
//		switch a := a.(type) {
//		case <Variant>:
//			b, same := b.(<Variant>)
//			return same && <a.Equal(b)>
//		}
//		return a == b
//	}
func equalUnion(t *catalog.Type) *jen.Statement {
	var cases []jen.Code
	a, b := jen.Id("a"), jen.Id("b")
	for _, v := range t.Variants {
		cases = append(cases, jen.Case(typeName(v.Type)).Block(
			jen.List(b, jen.Id("same")).Op(":=").Add(b).Assert(typeName(v.Type)),
			jen.Return(jen.Id("same").Op("&&").Add(equal(structRef(v.Type), a, b, t.Recursive))),
		))
	}
	return jen.Func().Id(equalUnionName(t)).Params(unionParams(t, "a", "b")...).Bool().Block(
		jen.Switch(a.Clone().Op(":=").Add(a).Assert(jen.Type())).Block(cases...),
		jen.Return(a.Clone().Op("==").Add(b)),
	)
}

func cloneUnionName(t *catalog.Type) string { return "clone" + t.LocalName() }
func equalUnionName(t *catalog.Type) string { return "equal" + t.LocalName() }
