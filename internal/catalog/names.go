package catalog

import (
	"errors"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// GoName makes an exported Go name of a name or an enum value. Words end at
// everything that is not a letter or a digit; each begins with a capital, and
// initialisms are written in capitals:
//
//	order.placed     OrderPlaced
//	customer_id      CustomerID
//	line_ids         LineIDs
//	ml.run.started   MLRunStarted
//	in-progress      InProgress
//	EUR              EUR
//	PENDING_REVIEW   PendingReview
//
// The result depends on nothing but the name. It is empty for a name without
// letters and digits, and no identifier if the first of them is a digit.
func GoName(name string) string { return new(reader).goName(name) }

// goName is GoName with the initialisms of the catalogue too.
func (r *reader) goName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var out strings.Builder
	for _, w := range words {
		out.WriteString(r.goWord(w, len(words) > 1))
	}
	return out.String()
}

// goWord writes one word. Capitals stay as they are in a word that stands
// alone, such as a currency; several words in capitals would run together.
func (r *reader) goWord(word string, oneOfMany bool) string {
	upper := strings.ToUpper(word)
	known := func(word string) bool { return initialisms[word] || r.initialisms[word] }
	if known(upper) {
		return upper
	}
	if stem, ok := strings.CutSuffix(strings.ToLower(word), "s"); ok && known(strings.ToUpper(stem)) {
		return strings.ToUpper(stem) + "s"
	}
	if oneOfMany && word == upper {
		word = strings.ToLower(word)
	}
	runes := []rune(word)
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

// initialisms are the words that Go's conventions write in capitals.
var initialisms = set(
	"ACL", "API", "ASCII", "CPU", "CSS", "DNS", "EOF", "GPU", "GUID", "HTML", "HTTP", "HTTPS", "ID", "IP", "JSON", "LHS", "ML",
	"QPS", "RAM", "RHS", "RPC", "SKU", "SLA", "SMTP", "SQL", "SSH", "TCP", "TLS", "TTL", "UDP", "UI", "UID", "UUID", "URI", "URL",
	"UTF8", "VM", "XML", "XMPP", "XSRF", "XSS",
)

// initialism is the alphabet of those that a catalogue adds.
var initialism = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)

// readInitialisms reads `initialisms:`.
func (r *reader) readInitialisms(o object) {
	e, ok := o.entries["initialisms"]
	if !ok {
		return
	}
	if e.value.Kind != yaml.SequenceNode {
		r.wrongKind(e.value, "initialisms", "a list")
		return
	}
	r.initialisms = map[string]bool{}
	for _, item := range e.value.Content {
		word, ok := r.text(item, "one of initialisms")
		switch {
		case !ok:
		case !initialism.MatchString(word.V):
			r.report(r.place(item), rules.BadName, "%s is not an initialism", label(word.V)).
				Hint = "use capitals and digits, and begin with a letter, as in GTIN"
		default:
			r.initialisms[word.V] = true
		}
	}
}

// ownGoName returns the Go name that o asks for, or else usual.
func (r *reader) ownGoName(o object, usual string) string {
	e, ok := o.entries["go_name"]
	if !ok {
		return usual
	}
	name, ok := r.text(e.value, "go_name of "+o.what)
	switch {
	case !ok:
	case !typeName.MatchString(name.V):
		r.report(r.place(e.value), rules.BadName, "go_name of %s is %s, which is no exported Go name", o.what, label(name.V)).
			Hint = "begin with a capital and go on with letters and digits, as in OrderLine"
	default:
		return name.V
	}
	return usual
}

func set(words ...string) map[string]bool {
	s := make(map[string]bool, len(words))
	for _, w := range words {
		s[w] = true
	}
	return s
}

// importedNames are the packages that generated files import. A generated
// package with such a name could not be used beside them.
var importedNames = set("breaker", "context", "json", "retry", "runtime", "strconv", "time", "uuid", "wire")

// packageName reads `package:`.
func (r *reader) packageName(o object) Value[string] {
	e, ok := r.required(o, "package", "add the name of the Go package to generate, such as \"package: events\"")
	if !ok {
		return Value[string]{}
	}
	name, _ := r.goPackage(e)
	return name
}

// goPackage reads the name of a package of generated code.
func (r *reader) goPackage(e entry) (Value[string], bool) {
	name, ok := r.text(e.value, "package")
	if !ok {
		return name, false
	}
	reason := ""
	switch {
	case token.IsKeyword(name.V):
		reason = "it is a keyword of Go"
	case !token.IsIdentifier(name.V):
		reason = "it is not a Go identifier"
	case name.V == "_" || name.V == "main":
		reason = "it cannot be imported"
	case strings.HasSuffix(name.V, "_test"):
		reason = "names in _test are for tests"
	case types.Universe.Lookup(name.V) != nil:
		reason = "it is a predeclared name of Go"
	case importedNames[name.V]:
		reason = "generated code imports a package of that name"
	}
	if reason != "" {
		r.report(r.place(e.value), rules.Package, "package cannot be named %s: %s", label(name.V), reason).
			Hint = "use a short lower-case name, such as events"
	}
	return name, reason == ""
}

// ownImportPath reads `import_path:`, which stands in for go.mod.
func (r *reader) ownImportPath(o object) Value[string] {
	e, ok := o.entries["import_path"]
	if !ok {
		return Value[string]{}
	}
	v, ok := r.text(e.value, "import_path")
	if ok {
		if reason := importPathProblem(v.V); reason != "" {
			r.report(r.place(e.value), rules.BadName, "import_path cannot be %s: %s", label(v.V), reason).
				Hint = "write what others import the generated package by, such as example.org/shop/events"
		}
	}
	return v
}

// testKit reads `test_kit:`.
func (r *reader) testKit(o object) bool {
	e, ok := o.entries["test_kit"]
	return ok && r.truth(e, o.what).V
}

// syntaxOf reports a key that is no event name or pattern, at the character
// where err says that it goes wrong. The format takes the key and the reason.
func (r *reader) syntaxOf(e entry, err error, rule *diag.Rule, format string) {
	at, reason := r.place(e.key), err.Error()
	var syntax *glob.SyntaxError
	if errors.As(err, &syntax) {
		reason = syntax.Reason
		if rest := e.name[syntax.Offset:]; rest != "" {
			_, width := utf8.DecodeRuneInString(rest)
			at = r.placeIn(e.key, syntax.Offset, width)
		}
	}
	r.report(at, rule, format, label(e.name), reason)
}
