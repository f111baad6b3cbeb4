package catalog

import (
	"slices"
	"strings"
	"unicode"
)

// GoName makes an exported Go name of a name or an enum value. Words end at
// everything that is not a letter or a digit; each begins with a capital, and
// initialisms are written in capitals, those that Go's conventions have and those given:
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
func GoName(name string, initialisms ...string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var out strings.Builder
	for _, w := range words {
		out.WriteString(goWord(w, len(words) > 1, initialisms))
	}
	return out.String()
}

// goWord writes one word. Capitals stay as they are in a word that stands
// alone, such as a currency; several words in capitals would run together.
func goWord(word string, oneOfMany bool, initialisms []string) string {
	upper := strings.ToUpper(word)
	known := func(word string) bool {
		return slices.Contains(commonInitialisms, word) || slices.Contains(initialisms, word)
	}
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

// commonInitialisms lists the words that Go's conventions write in capitals.
var commonInitialisms = []string{
	"ACL", "API", "ASCII", "CPU", "CSS", "DNS", "EOF", "GPU", "GUID", "HTML", "HTTP", "HTTPS", "ID", "IP", "JSON", "LHS", "ML",
	"QPS", "RAM", "RHS", "RPC", "SKU", "SLA", "SMTP", "SQL", "SSH", "TCP", "TLS", "TTL", "UDP", "UI", "UID", "UUID", "URI", "URL",
	"UTF8", "VM", "XML", "XMPP", "XSRF", "XSS",
}

// DefaultName returns the Go name of the method that returns the default of f.
func DefaultName(f *Field) string { return f.GoName + "OrDefault" }

// UpcastName returns the name of the function, written by the user, that turns a payload of this version into
// one of the next.
func (s *OldShape) UpcastName() string { return "Upcast" + s.Type.GoName }

// InGo returns a Go name that belongs to e as users of its package write it, unless that is the root's:
// payments.PaymentReceived.
func (e *Event) InGo(name string) string {
	if e.Home == nil {
		return name
	}
	return e.Home.Name.V + "." + name
}

// LocalName returns a Go name that no type of another package has.
func (t *Type) LocalName() string {
	if t.Package == nil {
		return t.GoName
	}
	name := t.Package.Name.V
	return strings.ToUpper(name[:1]) + name[1:] + t.GoName
}

// GoType returns the type as Go knows it: net/netip.Addr.
func (c *Custom) GoType() string { return c.Import.V + "." + c.Name.V }
