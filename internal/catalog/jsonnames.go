package catalog

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// JSONNames is a way to make the JSON name of a field of the name that it has in the catalogue.
type JSONNames string

// The ways.
const (
	Snake  JSONNames = ""       // order_id stays order_id
	Camel  JSONNames = "camel"  // orderId
	Pascal JSONNames = "pascal" // OrderId
)

// JSONNamesBy has the ways by the words for them.
var JSONNamesBy = map[string]JSONNames{"camel": Camel, "pascal": Pascal, "snake": Snake}

// Of returns the JSON name of a field. It depends on nothing but the name: words end at underscores, and have
// no initialisms.
func (j JSONNames) Of(field string) string {
	if j != Camel && j != Pascal {
		return field
	}
	var b strings.Builder
	for word := range strings.SplitSeq(field, "_") {
		if word == "" {
			continue
		}
		if j == Pascal || b.Len() > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// tagPunctuation lists what encoding/json allows in the tag of a field besides letters and digits.
const tagPunctuation = "!#$%&()*+-./:;<=>?@[]^_{|}~ "

// CheckJSONName says why no field can have a name in JSON; it returns "" for one that a field can have.
// Generated structs also work with encoding/json, which reads the name from the tag of a field. It ignores a
// tag with other characters, and would use the Go name instead.
func CheckJSONName(name string) string {
	if name == "" {
		return "it is empty, and Go's encoding/json would use the Go name instead"
	}
	for _, c := range name {
		if !strings.ContainsRune(tagPunctuation, c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return "Go's encoding/json cannot have " + strconv.QuoteRune(c) + " in the tag of a field"
		}
	}
	return ""
}

// JSONNameHint says what names a field can have in JSON.
var JSONNameHint = "use letters and digits of any language, blanks, and any of " + strings.TrimSpace(tagPunctuation)

// SameJSONName reports whether two names in JSON are the same for Go's encoding/json, which takes a key in
// another case for the field, too.
func SameJSONName(a, b string) bool { return strings.EqualFold(a, b) }

// FoldJSONName returns the same text for exactly the names that [SameJSONName] takes for one.
func FoldJSONName(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// Label returns what the catalogue calls the field. It is the JSON name if the field was read from a record.
func (f *Field) Label() string {
	return cmp.Or(f.Local.V, f.Name.V)
}
