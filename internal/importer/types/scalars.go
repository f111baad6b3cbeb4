package types

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// loosened is the schema of a text that is in no format.
func loosened(s *tree.Node) *tree.Node {
	return s.Without("format", "contentEncoding", "contentMediaType")
}

// The limits of the language.
const (
	limitLength  = 1 << 30
	limitItems   = 1 << 20
	limitPattern = 1000
)

// textType is the type of a text.
func (tm *Maker) textType(s *tree.Node) Typing {
	t := Typing{scalar: true}
	var format string
	switch t.Text, format = schema.TextKind(s); {
	case t.Text == "bytes":
		return tm.bytesType(s)
	case s.Str("pattern") == export.URLPattern && format == "url", t.Text == "duration",
		t.Text == "decimal" && s.Str("format") != "decimal":
		s = s.Without("pattern")
	}
	if schema.IsEither(s, "ipv4", "ipv6") {
		format, s = "ip", s.Without("anyOf")
	}
	tm.leftovers(s, "minLength", "format", "maxLength", "pattern")
	if t.Text != "string" {
		t.scalar = t.Text != "time"
		for _, key := range []string{"minLength", "maxLength", "pattern"} {
			if s.Get(key) != nil {
				tm.Report(s.At(key), rules.ImportConstraint, "%s has no counterpart for a %s", key, t.Text)
			}
		}
		return t
	}
	t.more = tm.count(s, "minLength", "min_length", limitLength)
	t.more = append(t.more, tm.count(s, "maxLength", "max_length", limitLength)...)
	t.more = append(t.more, tm.pattern(s)...)
	t.more = append(t.more, tm.format(s, format)...)
	return t
}

// named makes a named scalar of a definition, so that its name stays. A catalogue has none of times and bytes, and what
// is no definition of its own, such as a property of one, has no name that others use.
func (tm *Maker) named(u schema.Use, at Spot, t Typing) Typing {
	if u.Def == nil || tm.schemas.IsPart(u.Def) || tm.builtIn || t.Text == "time" || t.Text == "bytes" {
		return t
	}
	name := tm.declare(u, at, func(own schema.Use, name string) *yaml.Node {
		body := draft.Mapping()
		tm.Say(body, own, Saying{Name: name})
		if body.Content == nil && t.more == nil {
			return draft.Notation(t.Text)
		}
		tm.catalogue.Add(body, "type", draft.Notation(t.Text), u.Schema.Place)
		for _, c := range t.more {
			tm.catalogue.Add(body, c.key, c.value, c.at)
		}
		return body
	})
	return Typing{Text: name, scalar: true}
}

// unnamed is what make returns if it makes no named scalars, where a catalogue has built-in types only.
func (tm *Maker) unnamed(make func() Typing) Typing {
	before := tm.builtIn
	tm.builtIn = true
	defer func() { tm.builtIn = before }()
	return make()
}

// format is a format that the language has as well.
func (tm *Maker) format(s *tree.Node, name string) []entry {
	if name == "" {
		return nil
	}
	if slices.Contains(format.Names(), name) {
		return []entry{{"format", draft.Text(name), s.At("format")}}
	}
	f := tm.Report(s.At("format"), rules.ImportFormat, "the format %s has no counterpart; the field takes any string",
		findings.Quote(name))
	switch name {
	case "uri":
		f.Hint = "the format url of a catalogue requires a host; urn:isbn:0451450523 has none"
	case "duration":
		f.Hint = "it stands for ISO 8601; durations of a catalogue are written as in Go, such as 1h30m"
	}
	return nil
}

// pattern is a pattern that Go takes as well.
func (tm *Maker) pattern(s *tree.Node) []entry {
	p := s.Get("pattern")
	if p == nil {
		return nil
	}
	_, err := regexp.Compile(p.Text)
	switch {
	case err != nil || !p.Is(tree.Text):
		tm.Report(s.At("pattern"), rules.ImportConstraint,
			"the pattern is not in the syntax of RE2, which Go uses; the field takes any string")
		return nil
	case len(p.Text) > limitPattern:
		tm.Report(s.At("pattern"), rules.ImportConstraint,
			"the pattern is longer than %d bytes; the field takes any string", limitPattern)
		return nil
	}
	value := draft.Text(p.Text)
	if strings.Contains(p.Text, "\n") {
		value = tm.catalogue.Value(p)
	}
	return []entry{{"pattern", value, s.At("pattern")}}
}

// bytesType is bytes in base64, whose lengths are counted before they are encoded.
func (tm *Maker) bytesType(s *tree.Node) Typing {
	t := Typing{Text: "bytes"}
	if n, ok := tm.whole(s, "minLength", limitLength); ok {
		least := 0
		if quads := (n + 3) / 4; quads > 0 {
			least = quads*3 - 2
		}
		t.more = append(t.more, entry{"min_length", draft.Plain(strconv.Itoa(least)), s.At("minLength")})
	}
	if n, ok := tm.whole(s, "maxLength", limitLength); ok {
		t.more = append(t.more, entry{"max_length", draft.Plain(strconv.Itoa(n / 4 * 3)), s.At("maxLength")})
	}
	if s.Get("pattern") != nil {
		tm.Report(s.At("pattern"), rules.ImportConstraint, "pattern has no counterpart for bytes")
	}
	tm.leftovers(s, "contentEncoding", "format", "minLength", "maxLength", "pattern")
	return t
}

// count is a constraint that counts something.
func (tm *Maker) count(s *tree.Node, keyword, key string, limit int) []entry {
	n, ok := tm.whole(s, keyword, limit)
	if !ok {
		return nil
	}
	return []entry{{key, draft.Plain(strconv.Itoa(n)), s.At(keyword)}}
}

// whole returns a number that counts something, from 0 to limit.
func (tm *Maker) whole(s *tree.Node, keyword string, limit int) (int, bool) {
	v := s.Get(keyword)
	if v == nil {
		return 0, false
	}
	if n, ok := v.Rational(); ok && n.IsInt() && n.Num().IsInt64() {
		switch i := n.Num().Int64(); {
		case i >= 0 && i <= int64(limit):
			return int(i), true
		case i > 0 && strings.HasPrefix(keyword, "max"):
			return 0, false // as good as none
		}
	}
	tm.Report(s.At(keyword), rules.ImportConstraint, "%s is not a whole number from 0 to %d", keyword, limit)
	return 0, false
}

// ranges are limits that go without saying, by type and key.
var ranges = map[string]string{"int32 min": "-2147483648", "int32 max": "2147483647", "uint64 min": "0"}

// numberType is the type of a number.
func (tm *Maker) numberType(s *tree.Node, kind string) Typing {
	t := Typing{Text: "float64", scalar: true}
	format := s.Str("format")
	size := schema.IntFormat{Kind: "int64"}
	if kind == "integer" {
		if known, ok := schema.IntFormats[format]; ok {
			size, format = known, ""
		}
		if size.Kind == "int64" && format == "" && s.Str("format") == "" && schema.BeyondInt64(s) {
			size.Kind = "uint64"
			if most, _ := s.Get("maximum").Rational(); most != nil && most.Num().IsUint64() &&
				most.Num().Uint64() == math.MaxUint64 {
				s = s.Without("maximum")
			}
		}
		t.Text = size.Kind
	} else if format == "double" || format == "float" {
		format = ""
	}
	if format != "" {
		tm.Report(s.At("format"), rules.ImportFormat, "the format %s of a number has no counterpart", findings.Quote(format))
	}
	t.more = append(t.more, tm.bound(s, t.Text, "minimum", "exclusiveMinimum", "min", size.Least)...)
	t.more = append(t.more, tm.bound(s, t.Text, "maximum", "exclusiveMaximum", "max", size.Most)...)
	if by, ok := s.Get("multipleOf").Rational(); s.Get("multipleOf") != nil &&
		!(ok && kind == "integer" && by.Cmp(big.NewRat(1, 1)) == 0) {
		tm.Report(s.At("multipleOf"), rules.ImportConstraint, "multipleOf has no counterpart")
	}
	tm.leftovers(s, "minimum", "maximum", "format", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
	return t
}

// bound is a limit that says more than the type; usual is that of the format.
func (tm *Maker) bound(s *tree.Node, kind, keyword, exclusive, key, usual string) []entry {
	var bounds []limit
	add := func(n *tree.Node, at diag.Place, open bool) {
		if b, ok := tm.limit(n, at, kind, open, key == "min"); ok {
			bounds = append(bounds, b)
		}
	}
	if n := s.Get(keyword); n != nil {
		add(n, s.At(keyword), s.Get(exclusive).IsTrue()) // exclusive is true or false in draft 4
	}
	if n := s.Get(exclusive); n != nil && !n.Is(tree.Boolean) {
		add(n, s.At(exclusive), true)
	}
	if usual != "" {
		value, _ := new(big.Rat).SetString(usual)
		bounds = append(bounds, limit{value, usual, s.At("format")})
	}
	if len(bounds) == 0 {
		return nil
	}
	tightest := slices.MaxFunc(bounds, func(a, b limit) int {
		if key == "min" {
			return a.value.Cmp(b.value)
		}
		return b.value.Cmp(a.value)
	})
	if tightest.text == ranges[kind+" "+key] {
		return nil
	}
	return []entry{{key, draft.Plain(tightest.text), tightest.at}}
}

type limit struct {
	value *big.Rat
	text  string
	at    diag.Place
}

// limit reads a bound; of integers, the next one that is allowed.
func (tm *Maker) limit(n *tree.Node, at diag.Place, kind string, open, least bool) (limit, bool) {
	value, ok := n.Rational()
	if !ok {
		tm.Report(at, rules.ImportConstraint, "the limit is not a number that a catalogue can express")
		return limit{}, false
	}
	if kind == "float64" {
		if open {
			tm.Report(at, rules.ImportConstraint, "the limit is exclusive here, but inclusive in a catalogue")
		}
		return limit{value, n.Text, at}, true
	}
	floor := new(big.Int).Div(value.Num(), value.Denom()) // Euclidean, with a positive divisor: rounds down
	switch {
	case least && (open || !value.IsInt()):
		floor.Add(floor, big.NewInt(1))
	case !least && open && value.IsInt():
		floor.Sub(floor, big.NewInt(1))
	}
	return limit{new(big.Rat).SetInt(floor), floor.String(), at}, true
}
