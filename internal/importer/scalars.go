package importer

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
)

// textFormats are the formats of JSON Schema and OpenAPI that are types of their own.
var textFormats = map[string]string{
	"uuid": "uuid", "date-time": "time", "date": "date", "decimal": "decimal", "byte": "bytes", "base64": "bytes",
}

// The limits of the language.
const (
	limitLength  = 1 << 30
	limitItems   = 1 << 20
	limitPattern = 1000
)

// textType is the type of a text.
func (tm *typeMaker) textType(s *node) typing {
	t := typing{scalar: true}
	var format string
	switch t.text, format = textKind(s); {
	case t.text == "bytes":
		return tm.bytesType(s)
	case s.str("pattern") == export.URLPattern && format == "url", t.text == "duration", t.text == "decimal" && s.str("format") != "decimal":
		s = s.without("pattern")
	}
	if isEither(s, "ipv4", "ipv6") {
		format, s = "ip", s.without("anyOf")
	}
	tm.leftovers(s, "minLength", "format", "maxLength", "pattern")
	if t.text != "string" {
		t.scalar = t.text != "time"
		for _, key := range []string{"minLength", "maxLength", "pattern"} {
			if s.get(key) != nil {
				tm.report(s.at(key), rules.ImportConstraint, "%s has no counterpart for a %s", key, t.text)
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
func (tm *typeMaker) named(u use, at spot, t typing) typing {
	if u.def == nil || tm.isPart(u.def) || tm.builtIn || t.text == "time" || t.text == "bytes" {
		return t
	}
	name := tm.declare(u, at, func(own use, name string) *yaml.Node {
		body := mapping()
		tm.say(body, own, saying{name: name})
		if body.Content == nil && t.more == nil {
			return notation(t.text)
		}
		tm.add(body, "type", notation(t.text), u.schema.place)
		for _, c := range t.more {
			tm.add(body, c.key, c.value, c.at)
		}
		return body
	})
	return typing{text: name, scalar: true}
}

// unnamed is what make returns if it makes no named scalars, where a catalogue has built-in types only.
func (tm *typeMaker) unnamed(make func() typing) typing {
	before := tm.builtIn
	tm.builtIn = true
	defer func() { tm.builtIn = before }()
	return make()
}

// isEither tells a schema whose values are of one of two formats.
func isEither(s *node, a, b string) bool {
	either := s.get("anyOf").elements()
	return len(either) == 2 && either[0].str("format") == a && either[1].str("format") == b
}

// format is a format that the language has as well.
func (tm *typeMaker) format(s *node, name string) []entry {
	if name == "" {
		return nil
	}
	if slices.Contains(format.Names(), name) {
		return []entry{{"format", textNode(name), s.at("format")}}
	}
	f := tm.report(s.at("format"), rules.ImportFormat, "the format %s has no counterpart; the field takes any string", quoted(name))
	switch name {
	case "uri":
		f.Hint = "the format url of a catalogue requires a host; urn:isbn:0451450523 has none"
	case "duration":
		f.Hint = "it stands for ISO 8601; durations of a catalogue are written as in Go, such as 1h30m"
	}
	return nil
}

// pattern is a pattern that Go takes as well.
func (tm *typeMaker) pattern(s *node) []entry {
	p := s.get("pattern")
	if p == nil {
		return nil
	}
	_, err := regexp.Compile(p.text)
	switch {
	case err != nil || !p.is(text):
		tm.report(s.at("pattern"), rules.ImportConstraint, "the pattern is not in the syntax of RE2, which Go uses; the field takes any string")
		return nil
	case len(p.text) > limitPattern:
		tm.report(s.at("pattern"), rules.ImportConstraint, "the pattern is longer than %d bytes; the field takes any string", limitPattern)
		return nil
	}
	value := textNode(p.text)
	if strings.Contains(p.text, "\n") {
		value = tm.yamlOf(p)
	}
	return []entry{{"pattern", value, s.at("pattern")}}
}

// bytesType is bytes in base64, whose lengths are counted before they are encoded.
func (tm *typeMaker) bytesType(s *node) typing {
	t := typing{text: "bytes"}
	if n, ok := tm.whole(s, "minLength", limitLength); ok {
		least := 0
		if quads := (n + 3) / 4; quads > 0 {
			least = quads*3 - 2
		}
		t.more = append(t.more, entry{"min_length", plain(strconv.Itoa(least)), s.at("minLength")})
	}
	if n, ok := tm.whole(s, "maxLength", limitLength); ok {
		t.more = append(t.more, entry{"max_length", plain(strconv.Itoa(n / 4 * 3)), s.at("maxLength")})
	}
	if s.get("pattern") != nil {
		tm.report(s.at("pattern"), rules.ImportConstraint, "pattern has no counterpart for bytes")
	}
	tm.leftovers(s, "contentEncoding", "format", "minLength", "maxLength", "pattern")
	return t
}

// count is a constraint that counts something.
func (tm *typeMaker) count(s *node, keyword, key string, limit int) []entry {
	n, ok := tm.whole(s, keyword, limit)
	if !ok {
		return nil
	}
	return []entry{{key, plain(strconv.Itoa(n)), s.at(keyword)}}
}

// whole returns a number that counts something, from 0 to limit.
func (tm *typeMaker) whole(s *node, keyword string, limit int) (int, bool) {
	v := s.get(keyword)
	if v == nil {
		return 0, false
	}
	if n, ok := v.rational(); ok && n.IsInt() && n.Num().IsInt64() {
		switch i := n.Num().Int64(); {
		case i >= 0 && i <= int64(limit):
			return int(i), true
		case i > 0 && strings.HasPrefix(keyword, "max"):
			return 0, false // as good as none
		}
	}
	tm.report(s.at(keyword), rules.ImportConstraint, "%s is not a whole number from 0 to %d", keyword, limit)
	return 0, false
}

// An intFormat is a name for integers of some size.
type intFormat struct {
	kind        string
	least, most string // what the type itself allows; empty for that of kind
}

var intFormats = map[string]intFormat{
	"int8":   {"int32", "-128", "127"},
	"int16":  {"int32", "-32768", "32767"},
	"int32":  {"int32", "", ""},
	"int64":  {"int64", "", ""},
	"uint8":  {"int32", "0", "255"},
	"uint16": {"int32", "0", "65535"},
	"uint32": {"int64", "0", "4294967295"},
	"uint64": {"uint64", "", ""},
}

// ranges are limits that go without saying, by type and key.
var ranges = map[string]string{"int32 min": "-2147483648", "int32 max": "2147483647", "uint64 min": "0"}

// numberType is the type of a number.
func (tm *typeMaker) numberType(s *node, kind string) typing {
	t := typing{text: "float64", scalar: true}
	format := s.str("format")
	size := intFormat{kind: "int64"}
	if kind == "integer" {
		if known, ok := intFormats[format]; ok {
			size, format = known, ""
		}
		if size.kind == "int64" && format == "" && s.str("format") == "" && beyondInt64(s) {
			size.kind = "uint64"
			if most, _ := s.get("maximum").rational(); most != nil && most.Num().IsUint64() && most.Num().Uint64() == math.MaxUint64 {
				s = s.without("maximum")
			}
		}
		t.text = size.kind
	} else if format == "double" || format == "float" {
		format = ""
	}
	if format != "" {
		tm.report(s.at("format"), rules.ImportFormat, "the format %s of a number has no counterpart", quoted(format))
	}
	t.more = append(t.more, tm.bound(s, t.text, "minimum", "exclusiveMinimum", "min", size.least)...)
	t.more = append(t.more, tm.bound(s, t.text, "maximum", "exclusiveMaximum", "max", size.most)...)
	if by, ok := s.get("multipleOf").rational(); s.get("multipleOf") != nil && !(ok && kind == "integer" && by.Cmp(big.NewRat(1, 1)) == 0) {
		tm.report(s.at("multipleOf"), rules.ImportConstraint, "multipleOf has no counterpart")
	}
	tm.leftovers(s, "minimum", "maximum", "format", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
	return t
}

// beyondInt64 tells integers that are never negative, and can be larger than an int64.
func beyondInt64(s *node) bool {
	values := valuesIn(s)
	if most := s.get("maximum"); most != nil {
		least, ok := s.get("minimum").rational()
		if above, hasAbove := s.get("exclusiveMinimum").rational(); hasAbove && above.Cmp(big.NewRat(-1, 1)) >= 0 {
			least, ok = new(big.Rat), true
		}
		if !ok || least.Sign() < 0 {
			return false
		}
		values = append(slices.Clone(values), most)
	}
	beyond := false
	for _, v := range values {
		n, ok := v.rational()
		if !ok || n.Sign() < 0 || n.Cmp(new(big.Rat).SetInt(new(big.Int).SetUint64(math.MaxUint64))) > 0 {
			return false
		}
		beyond = beyond || n.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) > 0
	}
	return beyond
}

// bound is a limit that says more than the type; usual is that of the format.
func (tm *typeMaker) bound(s *node, kind, keyword, exclusive, key, usual string) []entry {
	var bounds []limit
	add := func(n *node, at diag.Place, open bool) {
		if b, ok := tm.limit(n, at, kind, open, key == "min"); ok {
			bounds = append(bounds, b)
		}
	}
	if n := s.get(keyword); n != nil {
		add(n, s.at(keyword), s.isTrue(exclusive)) // exclusive is true or false in draft 4
	}
	if n := s.get(exclusive); n != nil && !n.is(boolean) {
		add(n, s.at(exclusive), true)
	}
	if usual != "" {
		value, _ := new(big.Rat).SetString(usual)
		bounds = append(bounds, limit{value, usual, s.at("format")})
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
	return []entry{{key, plain(tightest.text), tightest.at}}
}

type limit struct {
	value *big.Rat
	text  string
	at    diag.Place
}

// limit reads a bound; of integers, the next one that is allowed.
func (tm *typeMaker) limit(n *node, at diag.Place, kind string, open, least bool) (limit, bool) {
	value, ok := n.rational()
	if !ok {
		tm.report(at, rules.ImportConstraint, "the limit is not a number that a catalogue can express")
		return limit{}, false
	}
	if kind == "float64" {
		if open {
			tm.report(at, rules.ImportConstraint, "the limit is exclusive here, but inclusive in a catalogue")
		}
		return limit{value, n.text, at}, true
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
