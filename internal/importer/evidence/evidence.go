// Package evidence compares examples with their schemas.
package evidence

import (
	"encoding/base64"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// Evidence is what the examples of a document have that its schemas allow, but a catalogue that was made of the schemas
// alone would lose or refuse: properties that an open object does not name, and texts that are not in the format, which
// JSON Schema takes for a comment. An import that finds evidence is done once more, with it. A schema is known by where
// it is written.
type Evidence struct {
	of   map[diag.Position]*Shown
	all  []contradiction // in the order in which they were found
	none bool            // some have null for a property that may be absent
	Left int             // values that may still be looked at
}

// Shown is what examples show of the values of one schema.
type Shown struct {
	Loose  bool          // they do not keep to the format
	None   *tree.Node    // the null that they have for a property that may be absent
	Absent bool          // they do not have it at all
	Large  bool          // numbers have more digits than there is room for
	Other  bool          // they are of another kind than the keywords of the schema are about
	Extra  []tree.Member // properties that the schema does not have, with a value
}

// A contradiction is a finding about an example.
type contradiction struct {
	at   diag.Place
	text string
}

// An Observer compares examples with schemas.
type Observer struct {
	*findings.List
	Schemas *schema.Reader
	seen    *Evidence // what examples show
	known   bool      // it is known already, from the first time that the document was imported
}

// NewObserver returns an observer that adds to what is seen or, if that is known, only tells it.
func NewObserver(schemas *schema.Reader, seen *Evidence, known bool) *Observer {
	return &Observer{schemas.List, schemas, seen, known}
}

// maxExtra is how many properties an example may add to one schema.
const maxExtra = 200

// Any tells whether examples show anything.
func (e *Evidence) Any() bool { return len(e.all) > 0 || e.none }

// New returns evidence to which left values may add.
func New(left int) *Evidence { return &Evidence{of: map[diag.Position]*Shown{}, Left: left} }

// ShownOf is what examples show of a schema. The caller must not change it.
func (ob *Observer) ShownOf(s *tree.Node) *Shown {
	if of := ob.seen.of[s.Place.Pos]; ob.known && of != nil {
		return of
	}
	return &Shown{}
}

// Observe compares an example with a schema.
func (ob *Observer) Observe(s, v *tree.Node) {
	if ob.known {
		return
	}
	if ob.seen.Left--; ob.seen.Left < 0 {
		return
	}
	u := ob.Schemas.Look(s)
	n := u.Schema
	if !n.Is(tree.Object) {
		return
	}
	kinds := schema.KindsOf(n)
	variants, _ := ob.Schemas.FindVariants(n)
	switch values, _ := schema.Listed(n); {
	case values != nil:
	case variants != nil:
		ob.observeVariant(v, variants)
	case len(kinds) != 1:
	case n.Get("type") == nil && !v.Is(tree.Null) && kindName(v) != kinds[0] && kindName(v) != "" &&
		!(kinds[0] == "number" && kindName(v) == "integer"):
		ob.contradict(n, v, "of another type than the keywords of its schema are about; the field takes any JSON",
			func(of *Shown) *bool { return &of.Other })
	case kinds[0] == "number" && v.Is(tree.Number) && !exact(v.Text):
		ob.contradict(n, v, v.Text+", which a float64 rounds; the field takes any JSON", func(of *Shown) *bool {
			return &of.Large
		})
	case kinds[0] == "object" && v.Is(tree.Object):
		ob.observeObject(u, v)
	case kinds[0] == "array" && v.Is(tree.List) && schema.ItemsOf(n).Is(tree.Object):
		for _, item := range v.Items {
			ob.Observe(schema.ItemsOf(n), item)
		}
	case kinds[0] == "string" && v.Is(tree.Text):
		if why := unlike(n, v.Text); why != "" {
			ob.contradict(n, v, why+"; the field takes any string", func(of *Shown) *bool { return &of.Loose })
		}
	case kinds[0] == "integer" && v.Is(tree.Number):
		_, err := strconv.ParseInt(v.Text, 10, 64)
		_, unsigned := strconv.ParseUint(v.Text, 10, 64)
		if err != nil && (unsigned != nil || n.Str("format") != "uint64" && !schema.BeyondInt64(n)) {
			ob.contradict(n, v, v.Text+", for which an int64 has no room; the field takes any JSON", func(of *Shown) *bool {
				return &of.Large
			})
		}
	}
}

// kindName is the type of JSON Schema that a value has.
func kindName(v *tree.Node) string {
	switch v.Kind {
	case tree.Object:
		return "object"
	case tree.List:
		return "array"
	case tree.Text:
		return "string"
	case tree.Boolean:
		return "boolean"
	case tree.Number:
		if v.IsWhole() {
			return "integer"
		}
		return "number"
	}
	return ""
}

// exact tells whether a float64 keeps all digits of a number.
func exact(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	written, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	want, ok2 := (&tree.Node{Kind: tree.Number, Text: text}).Rational()
	return !ok || !ok2 || written.Cmp(want) == 0
}

// shows returns what is known of a schema, to be changed.
func (e *Evidence) shows(s *tree.Node) *Shown {
	of := e.of[s.Place.Pos]
	if of == nil {
		of = &Shown{}
		e.of[s.Place.Pos] = of
	}
	return of
}

// contradict remembers what an example shows, once for each schema.
func (ob *Observer) contradict(s, v *tree.Node, what string, flag func(*Shown) *bool) {
	if set := flag(ob.seen.shows(s)); !*set {
		*set = true
		ob.seen.all = append(ob.seen.all, contradiction{v.Place, "the example is " + what})
	}
}

func (ob *Observer) observeVariant(v *tree.Node, variants *schema.Variants) {
	tag := v.Get(variants.Key)
	for _, one := range variants.All {
		if tag.Is(tree.Text) && one.Tag == tag.Text {
			ob.observeFields(one.Struct, v, variants.Key)
		}
	}
}

func (ob *Observer) observeObject(u schema.Use, v *tree.Node) {
	s := u.Schema
	if !schema.OnlySays(s, "type") && schema.IsStruct(u) {
		ob.observeFields(u, v, "")
		return
	}
	if rest, _ := schema.ValuesOfMap(s); rest.Is(tree.Object) {
		for _, m := range v.Members {
			ob.Observe(rest, m.Value)
		}
	}
}

// ObservePayload compares examples with the payload of an event.
func (ob *Observer) ObservePayload(u schema.Use, examples []*tree.Node) {
	for _, e := range examples {
		if !ob.known && e.Is(tree.Object) && u.Schema.Is(tree.Object) {
			ob.observeFields(u, e, "")
		}
	}
}

// observeFields compares an object with a struct, which has one more property.
func (ob *Observer) observeFields(u schema.Use, v *tree.Node, besides string) {
	s := u.Schema
	rest := s.Get("additionalProperties")
	closed := rest.IsFalse()
	for _, p := range s.Get("properties").Properties() {
		if v.Get(p.Name) == nil {
			ob.seen.shows(p.Value).Absent = true
		}
	}
	for _, m := range v.Members {
		p := s.Get("properties").Get(m.Name)
		switch {
		case p != nil && m.Value.Is(tree.Null):
			ob.seen.shows(p).None, ob.seen.none = m.Value, true
		case p != nil:
			ob.Observe(p, m.Value)
		case m.Name == besides, closed && !matchesAny(s.Get("patternProperties"), m.Name):
		default:
			ob.observeExtra(s, m)
		}
	}
}

// matchesAny tells whether a name is one of those that patternProperties allow; it may be if a pattern cannot be read.
func matchesAny(patterns *tree.Node, name string) bool {
	return slices.ContainsFunc(patterns.Properties(), func(p tree.Member) bool {
		pattern, err := regexp.Compile(p.Name)
		return err != nil || pattern.MatchString(name)
	})
}

func (ob *Observer) observeExtra(s *tree.Node, m tree.Member) {
	of := ob.seen.shows(s)
	if len(of.Extra) >= maxExtra || slices.ContainsFunc(of.Extra, func(other tree.Member) bool {
		return other.Name == m.Name
	}) {
		return
	}
	of.Extra = append(of.Extra, m)
	ob.seen.all = append(ob.seen.all,
		contradiction{m.At, "the example has " + findings.Quote(m.Name) +
			", which the schema does not name; it becomes an optional field of any JSON"})
}

// unlike says what is wrong with a text for the type that textType makes of a schema, or that it would not come back as
// it is; empty if nothing is.
func unlike(s *tree.Node, value string) string {
	kind, formatName := schema.TextKind(s)
	quotedValue := findings.Quote(value)
	switch kind {
	case "bytes":
		if decoded, err := base64.StdEncoding.DecodeString(value); err != nil ||
			base64.StdEncoding.EncodeToString(decoded) != value {
			return quotedValue + ", which is not base64 with padding"
		}
	case "uuid":
		if id, err := uuid.Parse(value); err != nil || id.String() != value {
			return quotedValue + ", which is not a UUID in small letters"
		}
	case "time":
		if t, err := time.Parse(time.RFC3339Nano, value); err != nil || t.Format(time.RFC3339Nano) != value {
			return quotedValue + ", which is not RFC 3339 as Go writes it"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, value); err != nil {
			return quotedValue + ", which is not a date"
		}
	case "decimal":
		if !format.IsDecimal(value) {
			return quotedValue + ", which is not a decimal"
		}
	case "duration":
		if d, err := time.ParseDuration(value); err != nil || d.String() != value {
			return quotedValue + ", which is not a duration as Go writes it"
		}
	default:
		if slices.Contains(format.Names(), formatName) {
			if _, ok := format.Check(formatName, value); !ok {
				return quotedValue + ", which is not in the format " + formatName
			}
		}
	}
	return ""
}

// ReportEvidence reports what examples have shown.
func (ob *Observer) ReportEvidence() {
	for _, c := range ob.seen.all {
		ob.Report(c.at, rules.ImportExample, "%s", c.text)
	}
}
