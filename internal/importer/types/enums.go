package types

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// valuesOf returns the values of a schema that lists them, and the keyword that
// does. It returns nil for another schema, and after a finding for an enum that a
// catalogue cannot have.
func (tm *Maker) valuesOf(s *tree.Node) ([]schema.Value, string) {
	values, key := schema.Listed(s)
	if values == nil {
		return nil, ""
	}
	texts, numbers := 0, 0
	for _, v := range values {
		switch {
		case v.JSON.Unsure:
		case v.JSON.Kind == tree.Text:
			texts++
		case v.JSON.Kind == tree.Number && small(v.JSON.Text):
			numbers++
		}
		if strings.ContainsFunc(v.JSON.Text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			tm.refused[s.Get(key)] = true
			tm.Report(v.JSON.Place, rules.ImportEnum,
				"a value of an enum has no control characters; the field takes all values of its type")
			return nil, ""
		}
	}
	switch {
	case texts == len(values), numbers == len(values):
		return values, key
	case key == "enum" && len(values) == 2 && values[0].JSON.Kind == tree.Boolean && values[1].JSON.Kind == tree.Boolean:
		tm.refused[s.Get(key)] = true // it is bool
		return nil, ""
	case len(values) == 1 && values[0].JSON.Kind == tree.Boolean:
		tm.refused[s.Get(key)] = true
		tm.Report(s.At(key), rules.ImportEnum, "the only value is %s; the field takes true and false", values[0].JSON.Text)
		return nil, ""
	}
	tm.refused[s.Get(key)] = true
	tm.Report(s.At(key), rules.ImportEnum,
		"an enum has strings only, or whole numbers of 32 bits only; the field takes all values of its type")
	return nil, ""
}

// small tells whole numbers that fit 32 bits.
func small(number string) bool {
	n, err := strconv.Atoi(number)
	return err == nil && n >= math.MinInt32 && n <= math.MaxInt32
}

// enum is the body of an enum.
func (tm *Maker) enum(u schema.Use, values []schema.Value, key, name string) *yaml.Node {
	body := draft.Mapping()
	tm.Say(body, u, Saying{Name: name})
	tm.leftovers(u.Schema, key, "format")
	detailed := draft.Mapping()
	short := draft.Flow(&yaml.Node{Kind: yaml.SequenceNode})
	plainTexts := true
	texts, goNames := names.Taken{}, names.Taken{}
	for _, v := range values {
		name := v.JSON.Text
		if v.JSON.Kind == tree.Number && v.Use.Title != nil && v.Use.Title.Text != "" {
			name = v.Use.Title.Text
		}
		name = texts.Unique(name)
		one := draft.Mapping()
		if v.JSON.Kind == tree.Number {
			tm.catalogue.Add(one, "number", draft.Plain(v.JSON.Text), v.JSON.Place)
		}
		if v.Use.Schema != nil {
			tm.Say(one, v.Use, Saying{Name: name})
		}
		if own := ownConstant(name, goNames); own != "" {
			tm.catalogue.Add(one, "go_name", draft.Text(own), v.JSON.Place)
		}
		plainTexts = plainTexts && one.Content == nil
		item := draft.Text(name)
		tm.catalogue.SetPlace(item, v.JSON.Place)
		short.Content = append(short.Content, item)
		if len(one.Content) == 2 && one.Content[0].Value == "number" {
			one = one.Content[1]
		}
		tm.catalogue.Add(detailed, name, one, v.JSON.Place)
	}
	if plainTexts {
		tm.catalogue.Add(body, "enum", short, u.Schema.At(key))
	} else {
		tm.catalogue.Add(body, "enum", detailed, u.Schema.At(key))
	}
	return body
}

// ownConstant is the go_name of a value whose text makes none that is free; empty if
// it makes one.
func ownConstant(name string, taken names.Taken) string {
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
	return taken.Unique(goName)
}
