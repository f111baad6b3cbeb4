package importer

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A value is one of an enum.
type value struct {
	json *node
	use  use // what is said of it
}

// valuesOf returns the values of a schema that lists them, and the keyword that
// does. It returns nil for another schema, and after a finding for an enum that a
// catalogue cannot have.
func (tm *typeMaker) valuesOf(s *node) ([]value, string) {
	values, key := listed(s)
	if values == nil {
		return nil, ""
	}
	texts, numbers := 0, 0
	for _, v := range values {
		switch {
		case v.json.unsure:
		case v.json.kind == text:
			texts++
		case v.json.kind == number && small(v.json.text):
			numbers++
		}
		if strings.ContainsFunc(v.json.text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			tm.refused[s.get(key)] = true
			tm.report(v.json.place, rules.ImportEnum, "a value of an enum has no control characters; the field takes all values of its type")
			return nil, ""
		}
	}
	switch {
	case texts == len(values), numbers == len(values):
		return values, key
	case key == "enum" && len(values) == 2 && values[0].json.kind == boolean && values[1].json.kind == boolean:
		tm.refused[s.get(key)] = true // it is bool
		return nil, ""
	case len(values) == 1 && values[0].json.kind == boolean:
		tm.refused[s.get(key)] = true
		tm.report(s.at(key), rules.ImportEnum, "the only value is %s; the field takes true and false", values[0].json.text)
		return nil, ""
	}
	tm.refused[s.get(key)] = true
	tm.report(s.at(key), rules.ImportEnum, "an enum has strings only, or whole numbers of 32 bits only; the field takes all values of its type")
	return nil, ""
}

// small tells whole numbers that fit 32 bits.
func small(number string) bool {
	n, err := strconv.Atoi(number)
	return err == nil && n >= math.MinInt32 && n <= math.MaxInt32
}

// listed returns the different values of enum, const, or oneOf with a const in each.
func listed(s *node) (values []value, key string) {
	seen := map[string]bool{}
	add := func(json *node, u use) {
		if !json.is(null) && !seen[json.text] {
			seen[json.text] = true
			values = append(values, value{json, u})
		}
	}
	switch {
	case len(s.get("enum").elements()) > 0:
		key = "enum"
		for _, v := range s.get("enum").items {
			add(v, use{})
		}
	case s.get("const") != nil:
		key = "const"
		add(s.get("const"), use{})
	default:
		key = "oneOf"
		for _, branch := range s.get("oneOf").elements() {
			if branch.get("const") == nil {
				return nil, ""
			}
			u := use{schema: branch}
			u.annotate(branch)
			add(branch.get("const"), u)
		}
	}
	return values, key
}

// enum is the body of an enum.
func (tm *typeMaker) enum(u use, values []value, key, name string) *yaml.Node {
	body := mapping()
	tm.say(body, u, saying{name: name})
	tm.leftovers(u.schema, key, "format")
	detailed := mapping()
	short := flow(&yaml.Node{Kind: yaml.SequenceNode})
	plainTexts := true
	texts, goNames := names{}, names{}
	for _, v := range values {
		name := v.json.text
		if v.json.kind == number && v.use.title != nil && v.use.title.text != "" {
			name = v.use.title.text
		}
		name = texts.unique(name)
		one := mapping()
		if v.json.kind == number {
			tm.add(one, "number", plain(v.json.text), v.json.place)
		}
		if v.use.schema != nil {
			tm.say(one, v.use, saying{name: name})
		}
		if own := ownConstant(name, goNames); own != "" {
			tm.add(one, "go_name", textNode(own), v.json.place)
		}
		plainTexts = plainTexts && one.Content == nil
		item := textNode(name)
		tm.setPlace(item, v.json.place)
		short.Content = append(short.Content, item)
		if len(one.Content) == 2 && one.Content[0].Value == "number" {
			one = one.Content[1]
		}
		tm.add(detailed, name, one, v.json.place)
	}
	if plainTexts {
		tm.add(body, "enum", short, u.schema.at(key))
	} else {
		tm.add(body, "enum", detailed, u.schema.at(key))
	}
	return body
}

// ownConstant is the go_name of a value whose text makes none that is free; empty if
// it makes one.
func ownConstant(name string, taken names) string {
	usual := catalog.GoName(name)
	if usual != "" && !taken[usual] {
		taken[usual] = true
		return ""
	}
	prefix := "Value"
	if number, negative := strings.CutPrefix(name, "-"); negative && usual == number {
		prefix = "Minus"
	}
	goName := prefix + usual
	if !catalog.TypeName.MatchString(goName) {
		goName = "Value"
	}
	return taken.unique(goName)
}
