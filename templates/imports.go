package templates

import (
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"unicode"
)

// importAlias returns the name of an imported package in generated code. It depends only
// on the path: the package itself is not read.
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

// goodAlias changes a name that an imported package cannot have.
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

// isTaken reports whether an imported package cannot have a name in generated code,
// because Go, another package or a variable has it.
func isTaken(name string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil || takenNames.MatchString(name)
}

var takenNames = regexp.MustCompile(`^(ask|bind|breaker|bytes|checks|context|declare|deep|encoding|json|maps|regexp|retry|runtime|slices|strconv|time|uuid|wire|` +
	`answers?|contract|bus|ctx|data|err|handler|init|inner\d*|item|key|metadata|name|opts|other|path|payloads?|problems|same|text|value)$`)
