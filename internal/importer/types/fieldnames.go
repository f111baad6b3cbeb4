package types

import (
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/tree"
)

// fieldNames gives the fields of one struct their names.
type fieldNames struct {
	taken names.Taken     // in the catalogue
	own   map[string]bool // the properties that the schema names, which come before those that examples have
	json  map[string]bool // in JSON
}

func newFieldNames(s *tree.Node) fieldNames {
	n := fieldNames{names.Taken{}, map[string]bool{}, map[string]bool{}}
	for _, p := range s.Get("properties").Properties() {
		n.own[p.Name] = true
		n.taken[p.Name] = true // those that can stay come before those that are made up
	}
	return n
}

// fieldName is what the field of a property is called in the catalogue; empty after a finding if no field can
// have the name of the property in JSON.
func (tm *Maker) fieldName(name string, at diag.Place, n fieldNames) string {
	reason := catalog.CheckJSONName(name)
	if reason == "" && n.json[name] {
		reason = "another property has the name, too"
	}
	if reason != "" {
		tm.Report(at, rules.ImportName, "the property %s cannot be a field, and is left out: %s", findings.Quote(name),
			reason)
		tm.Rename(findings.Key, name, "", at)
		return ""
	}
	n.json[name] = true
	if catalog.FieldName.MatchString(name) && len(name) <= names.MaxMade && (n.own[name] || !n.taken[name]) {
		n.taken[name] = true
		return name
	}
	field := names.Snake(signed(name))
	field = strings.TrimRight(field[:min(len(field), names.MaxMade)], "_")
	if !catalog.FieldName.MatchString(field) {
		field = "field" // of 日本, for example
	}
	return n.taken.Unique(field)
}

// signed spells out what a name begins with, if no field can begin with that: +1, -1, 2fa.
func signed(name string) string {
	digits := strings.TrimLeft(name, "+-")
	switch {
	case digits == "" || digits[0] < '0' || digits[0] > '9':
		return name
	case digits == name:
		return "n" + name
	case name[0] == '+':
		return "plus " + digits
	}
	return "minus " + digits
}
