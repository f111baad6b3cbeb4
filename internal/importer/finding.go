package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/lint"
)

// The rules of findings. Their ids are stable.
const (
	RuleSyntax     catalog.Rule = "import-syntax"
	RuleDocument   catalog.Rule = "import-document"
	RulePayload    catalog.Rule = "import-payload"
	RuleReference  catalog.Rule = "import-reference"
	RuleKeyword    catalog.Rule = "import-keyword"
	RuleType       catalog.Rule = "import-type"
	RuleKeys       catalog.Rule = "import-keys"
	RuleName       catalog.Rule = "import-name"
	RuleNull       catalog.Rule = "import-null"
	RuleEnum       catalog.Rule = "import-enum"
	RuleUnion      catalog.Rule = "import-union"
	RuleFormat     catalog.Rule = "import-format"
	RuleConstraint catalog.Rule = "import-constraint"
	RuleDefault    catalog.Rule = "import-default"
	RuleRefused    catalog.Rule = "import-refused"
	RuleDetail     catalog.Rule = "import-detail"
)

// A Rule is a reason for which a part of a document is not, or not as it stands, in
// the catalogue.
type Rule struct {
	ID       catalog.Rule
	Severity lint.Severity
	Asks     string // for
}

// Rules lists them, for the reference.
func Rules() []Rule {
	return []Rule{
		{RuleSyntax, lint.Error, "JSON or YAML, without a name twice in one object"},
		{RuleDocument, lint.Error, "a document of the kind that was named, with an event in it"},
		{RuleKeys, lint.Error, "keys of the JSON that can stay; with `--rename-keys` it is a warning"},
		{RulePayload, lint.Warning, "payloads that are JSON objects"},
		{RuleReference, lint.Warning, "references to schemas of the same file"},
		{RuleKeyword, lint.Warning, "keywords that have a counterpart in a catalogue, such as no `not`, `if` and `anyOf`"},
		{RuleType, lint.Warning, "values of one type"},
		{RuleName, lint.Warning, "names of properties that fields can have, because they are keys in the JSON"},
		{RuleNull, lint.Warning, "null only where a property may be absent, too"},
		{RuleEnum, lint.Warning, "enums of strings or of integers that can be Go constants"},
		{RuleUnion, lint.Warning, "`oneOf` of objects that a property tells apart"},
		{RuleFormat, lint.Warning, "formats that a catalogue has"},
		{RuleConstraint, lint.Warning, "constraints that a catalogue has, on properties and not on the items of lists"},
		{RuleDefault, lint.Warning, "defaults of scalars"},
		{RuleRefused, lint.Warning, "what the reader of catalogues accepts, such as valid examples"},
		{RuleDetail, lint.Note, "nothing: what was only said about things, and is left out"},
	}
}

// RuleOf returns the rule of that id.
func RuleOf(id string) (Rule, bool) {
	for _, r := range Rules() {
		if string(r.ID) == id {
			return r, true
		}
	}
	return Rule{}, false
}

// report adds a finding, and returns it for a hint.
func (im *importer) report(at catalog.Place, id catalog.Rule, format string, args ...any) *catalog.Finding {
	rule, _ := RuleOf(string(id))
	f := &catalog.Finding{Place: at, Rule: id, Message: shown(fmt.Sprintf(format, args...))}
	im.findings = append(im.findings, lint.Finding{Finding: f, Severity: rule.Severity})
	return f
}

// note reports something that was only said.
func (im *importer) note(at catalog.Place, format string, args ...any) {
	im.report(at, RuleDetail, format, args...)
}

// shown escapes what cannot be seen: a message may repeat what is in the document.
func shown(message string) string {
	if !strings.ContainsFunc(message, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return message
	}
	quoted := strconv.QuoteToGraphic(message)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// tidied sorts the findings, and makes one of those that say the same.
func tidied(all []lint.Finding) []lint.Finding {
	slices.SortStableFunc(all, func(a, b lint.Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	all = slices.CompactFunc(all, func(a, b lint.Finding) bool { return a.String() == b.String() })
	type said struct {
		rule          catalog.Rule
		message, hint string
	}
	places := map[said][]catalog.Position{}
	first := map[*catalog.Finding]said{}
	all = slices.DeleteFunc(all, func(f lint.Finding) bool {
		what := said{f.Rule, f.Message, f.Hint}
		places[what] = append(places[what], f.Pos)
		first[f.Finding] = what
		return len(places[what]) > 1
	})
	for _, f := range all {
		f.Message += timesAt(places[first[f.Finding]])
	}
	return all
}

// firstPlaces is how many places a finding names besides its own.
const firstPlaces = 3

// timesAt says how often, and where first, something was found; nothing for once.
func timesAt(places []catalog.Position) string {
	if len(places) == 1 {
		return ""
	}
	text := fmt.Sprintf(" (%d times: here", len(places))
	for i, p := range places[1:min(len(places), 1+firstPlaces)] {
		separator := ", "
		if i+2 == len(places) {
			separator = " and "
		}
		text += fmt.Sprintf("%s%d:%d", separator, p.Line, p.Column)
	}
	if len(places) > 1+firstPlaces {
		text += " and so on"
	}
	return text + ")"
}
