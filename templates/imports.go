package templates

import (
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"unicode"
)

// importAlias is the name that an imported package has in generated code. It is
// made of the path alone: the package itself is never looked at.
func importAlias(path string) string {
	parts := strings.Split(path, "/")
	name := parts[len(parts)-1]
	if majorVersion.MatchString(name) && len(parts) > 1 {
		name = parts[len(parts)-2]
	}
	name, _, _ = strings.Cut(name, ".") // as in yaml.v3
	name = strings.TrimSuffix(strings.TrimPrefix(name, "go-"), "-go")
	name = strings.ToLower(strings.Map(asciiOnly, name))
	return goodAlias(strings.TrimLeft(name, "0123456789"))
}

// goodAlias changes a name that a package cannot have.
func goodAlias(name string) string {
	if len(name) < 3 || isTaken(name) {
		return name + "pkg"
	}
	return name
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// asciiOnly drops what cannot stand in a name.
func asciiOnly(r rune) rune {
	if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return r
	}
	return -1
}

// isTaken tells the names that a package cannot have in generated code: those of Go,
// of other packages there, and of variables that would hide it.
func isTaken(name string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil || takenNames.MatchString(name)
}

var takenNames = regexp.MustCompile(`^(breaker|bytes|checks|context|deep|json|maps|regexp|retry|runtime|slices|strconv|time|uuid|wire|` +
	`contract|bus|ctx|data|err|handler|inner\d*|item|key|name|opts|other|path|payloads?|problems|same|text|value)$`)
