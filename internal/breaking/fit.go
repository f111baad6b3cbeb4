package breaking

import (
	"math"
	"math/big"

	"github.com/busgen/busgen/internal/catalog"
)

// A fitness says how values of one type decode as another type.
type fitness int

const (
	fine    fitness = iota // unchanged
	loose                  // some decode to values that the other type does not allow
	bounded                // unchanged if they keep the constraints, which events older than a constraint may not do
	altered                // some decode to other values: a string as base64, a rounded number
	broken                 // some do not decode
)

// An operand is a type with the constraints on its values.
type operand struct {
	t           *catalog.TypeRef
	constraints catalog.Constraints
}

// each returns what a list or a map consists of.
func (o operand) each() operand { return operand{o.wire().Elem, o.constraints.OfEach()} }

// wire returns the type of the JSON.
func (o operand) wire() *catalog.TypeRef { return o.t.JSONType() }

// fit returns how values of the writer's type decode as the reader's type.
func fit(writer, reader operand) fitness {
	return (&fitting{seen: map[pair]bool{}}).types(writer, reader)
}

// fitting compares types that may contain themselves. It compares each pair once, and returns the worst
// fitness of all.
type fitting struct {
	seen map[pair]bool
}

func (f *fitting) types(writer, reader operand) fitness {
	w, r := writer.wire(), reader.wire()
	switch {
	case r.Kind == catalog.JSON:
		return fine
	case r.Kind == catalog.List:
		if w.Kind == catalog.List {
			return f.types(writer.each(), reader.each())
		}
	case r.Kind == catalog.Map || r.IsStruct():
		return f.objects(writer, reader)
	case r.IsUnion():
		return f.unions(w, r)
	case isNumber(w) && isNumber(r):
		return numbers(writer, reader)
	case isText(w) && isText(r):
		return texts(w, r)
	case w.Kind == r.Kind && w.Kind == catalog.Bool:
		return fine
	}
	return broken
}

// objects fits a JSON object into a map or a struct.
func (f *fitting) objects(writer, reader operand) fitness {
	w, r := writer.wire(), reader.wire()
	switch {
	case w.Kind == catalog.Map && r.Kind == catalog.Map:
		return f.types(writer.each(), reader.each())
	case w.Kind == catalog.Map: // any key may be present or absent
		worst := fine
		for _, field := range r.Named.Fields {
			worst = max(worst, loose, f.types(writer.each(), operand{field.Type, field.Constraints}))
		}
		return worst
	case w.IsStruct():
		return f.object(w.Named, w.Named.Fields, reader)
	case w.IsUnion():
		worst := fine
		for _, v := range w.Named.Variants {
			worst = max(worst, f.object(v.Type, append([]*catalog.Field{discriminator(w.Named)}, v.Type.Fields...), reader))
		}
		return worst
	}
	return broken
}

// discriminator returns the field for the discriminator in the JSON of a union.
func discriminator(t *catalog.Type) *catalog.Field {
	return &catalog.Field{Name: t.Discriminator, Type: &catalog.TypeRef{Kind: catalog.String, Text: "string"}}
}

// object fits the fields of one type into a map or a struct.
func (f *fitting) object(t *catalog.Type, fields []*catalog.Field, reader operand) fitness {
	r := reader.wire()
	key, worst := pair{t, r.Named}, fine
	if f.seen[key] {
		return fine
	}
	f.seen[key] = true
	if r.Kind == catalog.Map {
		for _, field := range fields {
			worst = max(worst, f.types(operand{field.Type, field.Constraints}, reader.each()))
		}
		return worst
	}
	for _, want := range r.Named.Fields {
		have := writerOf(fields, want)
		if have == nil || have.Type.MayBeNil() {
			if !want.Type.MayBeNil() && !want.Default.Written() {
				worst = max(worst, loose)
			}
		}
		if have != nil {
			worst = max(worst, f.types(operand{have.Type, have.Constraints}, operand{want.Type, want.Constraints}))
		}
	}
	return worst
}

// unions fits variants into variants.
func (f *fitting) unions(w, r *catalog.TypeRef) fitness {
	if w.Kind != catalog.Named || !w.Named.IsUnion() || w.Named.Discriminator.V != r.Named.Discriminator.V {
		return broken
	}
	worst := fine
	for _, v := range w.Named.Variants {
		other := variantNamed(r.Named, v.Name.V)
		if other == nil {
			return broken
		}
		worst = max(worst, f.object(v.Type, v.Type.Fields, operand{t: &catalog.TypeRef{Kind: catalog.Named, Named: other.Type}}))
	}
	return worst
}

// texts fits strings. Types that are read as they are accept every string. Bytes are not the letters of
// their base64.
func texts(w, r *catalog.TypeRef) fitness {
	switch {
	case w.Kind == catalog.Bytes && (r.Kind == catalog.String || r.Kind == catalog.Decimal || r.Kind == catalog.Named):
		return altered
	case r.Kind == catalog.String || r.Kind == w.Kind && r.Kind != catalog.Named:
		return fine
	case r.Kind == catalog.Decimal:
		return loose
	case r.Kind == catalog.Named:
		return enumerated(w, r)
	}
	return broken
}

// enumerated fits an enum, which decodes all strings or all integers, but allows only its values.
func enumerated(w, r *catalog.TypeRef) fitness {
	if w.Kind != catalog.Named {
		return loose
	}
	for _, v := range w.Named.Values {
		if !holds(r.Named, w.Named, v) {
			return loose
		}
	}
	return fine
}

// numbers fits numbers by the limits of their types, or else by their constraints.
func numbers(writer, reader operand) fitness {
	if worst := integers(operand{t: writer.t}, reader); worst <= loose {
		return worst
	}
	worst := integers(writer, reader)
	if worst <= loose {
		return bounded
	}
	return worst
}

func integers(writer, reader operand) fitness {
	w, r := writer.wire(), reader.wire()
	switch {
	case r.Kind == catalog.Float64 && w.Kind != catalog.Float64 && bits(writer) > 53:
		return altered // float64 rounds
	case r.Kind == catalog.Float64:
		return fine
	case w.Kind == catalog.Float64:
		return broken
	}
	least, most := limits(writer)
	from, to := limits(operand{t: reader.t})
	switch {
	case r.Kind == catalog.Named && (least.Cmp(big.NewInt(math.MinInt64)) < 0 || most.Cmp(big.NewInt(math.MaxInt64)) > 0):
		return broken
	case r.Kind == catalog.Named:
		return enumerated(w, r)
	case least.Cmp(from) < 0 || most.Cmp(to) > 0:
		return broken
	}
	return fine
}

// bits returns the number of bits of the largest integer.
func bits(o operand) int {
	least, most := limits(o)
	return max(least.BitLen(), most.BitLen())
}

// limits returns the smallest and the largest integer of a type with its constraints.
func limits(o operand) (least, most *big.Int) {
	t := o.wire()
	switch t.Kind {
	case catalog.Int32:
		least, most = big.NewInt(math.MinInt32), big.NewInt(math.MaxInt32)
	case catalog.Uint64:
		least, most = new(big.Int), new(big.Int).SetUint64(math.MaxUint64)
	case catalog.Named:
		least, most = big.NewInt(int64(t.Named.Values[0].Number)), big.NewInt(int64(t.Named.Values[0].Number))
		for _, v := range t.Named.Values {
			if n := big.NewInt(int64(v.Number)); n.Cmp(least) < 0 {
				least = n
			} else if n.Cmp(most) > 0 {
				most = n
			}
		}
	default:
		least, most = big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)
	}
	if n, ok := o.constraints.Min.V.Int(); ok {
		least = n
	}
	if n, ok := o.constraints.Max.V.Int(); ok {
		most = n
	}
	return least, most
}

func isNumber(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64:
		return true
	}
	return t.IsEnum() && t.Named.Integer
}

func isText(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.String, catalog.Bytes, catalog.Time, catalog.Date, catalog.Duration, catalog.UUID, catalog.Decimal:
		return true
	}
	return t.IsEnum() && !t.Named.Integer
}

// bare returns the text of a type without its mark.
func bare(t *catalog.TypeRef) string {
	text, _ := catalog.CutMark(t.WireText())
	return text
}

// custom returns the Go type of a custom type, and "" for others.
func custom(t *catalog.TypeRef) string {
	if t.Kind != catalog.Named || !t.Named.IsCustom() {
		return ""
	}
	return t.Named.Custom.Import.V + "." + t.Named.Custom.Name.V
}
