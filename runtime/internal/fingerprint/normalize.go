package fingerprint

import (
	"net/netip"
	"regexp"
	"strings"
)

// Normalize replaces the parts of a message that differ between errors of the same
// kind with placeholders:
//
//	<time>  dates and times of day
//	<id>    UUIDs
//	<addr>  IP addresses, with or without a port, and mail addresses
//	<text>  text in quotation marks
//	<n>     numbers with their signs and units, in any base; identifiers of letters
//	        and digits; random tokens (base64)
//
// Digits at the end of a word are a number: order17 becomes order<n>. Parts that say what has failed stay: short codes
// behind the words for them (status 404, exit code 137, SQLSTATE 23505), and quoted names of things such as tables and
// files. Normalizing twice gives the same as once. The result is at most three times as long as the message.
func Normalize(message string) string {
	n := normalizer{in: message}
	for n.in != "" {
		n.step()
	}
	return n.out.String()
}

// normalizer moves what it reads from in to out.
type normalizer struct {
	in       string
	out      strings.Builder
	last     byte // of out
	unclosed [128]bool
}

// step moves the next quotation, word or character.
func (n *normalizer) step() {
	c := n.in[0]
	if isDigit(c) || 'A' <= c && c <= 'Z' || c == '-' {
		if length := n.code(); length > 0 {
			n.copy(length)
			return
		}
	}
	switch {
	case c == '"' || c == '\'' || c == '`':
		n.quotation(c)
	case c == '[' || c == ':':
		n.other(n.address())
	case isWord(c):
		n.word()
	case (isSeparator(c) || c == '+') && !n.joined() && token(n.in) > 0:
		n.replace(token(n.in), "<n>")
	case n.signed(c):
		n.in = n.in[1:] // the sign, or a point without a digit before it, is part of the number
	default:
		n.copy(1)
	}
}

// other replaces the address of that many bytes. If address is 0, it copies one character.
func (n *normalizer) other(address int) {
	if address > 0 {
		n.replace(address, "<addr>")
	} else {
		n.copy(1)
	}
}

// quotation replaces the quotation that begins here. It copies the mark if that is
// an apostrophe or if the quotation does not end.
func (n *normalizer) quotation(mark byte) {
	if mark == '\'' && n.joined() || n.unclosed[mark] {
		n.copy(1)
		return
	}
	if length := quoted(n.in); length > 0 && n.names(n.in[:length]) {
		n.copy(length)
		return
	} else if length > 0 {
		n.replace(length, "<text>")
		return
	}
	n.unclosed[mark] = true // later quotations do not end either; do not search again
	n.copy(1)
}

// word moves the word, number or address that begins with a letter or a digit.
func (n *normalizer) word() {
	for _, p := range patterns {
		for found := p.pattern.FindString(n.in); found != ""; found = p.pattern.FindString(found[:strings.LastIndexAny(found, ".-@")]) {
			if ends(n.in, len(found)) {
				n.replace(len(found), p.placeholder)
				return
			}
			if !strings.Contains(found, "@") {
				break // only a mail address may be followed by more, such as a point
			}
		}
	}
	if length := n.address(); length > 0 {
		n.replace(length, "<addr>")
		return
	}
	if length := token(n.in); length > 0 {
		n.replace(length, "<n>")
		return
	}
	if isDigit(n.in[0]) {
		n.replace(len(number.FindString(n.in)), "<n>")
		return
	}
	end := 1
	for end < len(n.in) && isWord(n.in[end]) {
		end++
	}
	word := n.in[:end]
	switch letters := strings.IndexFunc(word, func(r rune) bool { return r < 128 && isDigit(byte(r)) }); {
	case letters < 0 && len(word) >= 8 && (strings.Trim(word, "abcdef") == "" || strings.Trim(word, "ABCDEF") == ""): // hexadecimal, by chance without a digit
		n.replace(end, "<n>")
	case letters < 0:
		n.copy(end)
	case identifier(word, letters):
		n.replace(end, "<n>")
	default:
		n.copy(letters)
		n.replace(end-letters, "<n>")
	}
}

// signed reports whether c is the sign or the point that a number begins with.
func (n *normalizer) signed(c byte) bool {
	if c != '-' && c != '+' && c != '.' || n.joined() || n.last == '.' || len(n.in) < 2 {
		return false
	}
	return isDigit(n.in[1]) || c != '.' && n.in[1] == '.' && len(n.in) > 2 && isDigit(n.in[2])
}

// identifier reports whether a word with digits is an identifier, and not letters
// with a number behind them: it is hexadecimal, mixes letters and digits, or has 16
// bytes or more. letters is the number of bytes before the first digit.
func identifier(word string, letters int) bool {
	return len(word) >= 16 || len(word) >= 6 && strings.Trim(word, "0123456789abcdefABCDEF") == "" ||
		strings.Trim(word[letters:], "0123456789") != ""
}

// address returns the length of the IP address that in begins with, or 0.
func (n *normalizer) address() int {
	run := addressRun.FindString(n.in)
	run = strings.TrimRight(run, ".:")
	if run == "" || !strings.ContainsAny(run, "0123456789") || !ends(n.in, len(run)) {
		return 0
	}
	if _, err := netip.ParseAddrPort(run); err == nil {
		return len(run)
	}
	if bare, found := strings.CutPrefix(run, "["); found {
		run, _, _ = strings.Cut(bare, "]")
		if _, err := netip.ParseAddr(run); err != nil {
			return 0
		}
		return len(run) + 2
	}
	if _, err := netip.ParseAddr(run); err != nil {
		return 0
	}
	return len(run)
}

// joined reports whether the output ends with a word or placeholder that the next character continues.
func (n *normalizer) joined() bool { return n.last == '>' || isWord(n.last) }

func (n *normalizer) copy(length int) {
	n.out.WriteString(n.in[:length])
	n.last, n.in = n.in[length-1], n.in[length:]
}

func (n *normalizer) replace(length int, placeholder string) {
	n.out.WriteString(placeholder)
	n.last, n.in = '>', n.in[length:]
}

// patterns are tried in this order where a word begins. Each match has a maximal
// length, so that the time grows linearly with the length of the message.
var patterns = []struct {
	pattern     *regexp.Regexp
	placeholder string
}{
	{regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){1,8}`), "<addr>"},
	{regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9][0-9a-fA-F]{3}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`), "<id>"},
	{regexp.MustCompile(`^\d{4}[-/]\d\d[-/]\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d:?\d\d)( [A-Z]{3,4})?)?)?`), "<time>"},
	{regexp.MustCompile(`^\d\d:\d\d:\d\d([.,]\d+)?`), "<time>"},
}

var (
	// number is a number with its unit: 0x1f, 1,234.5, 1e+06, 1m30.5s.
	number = regexp.MustCompile(`^\d+([eE][+-]\d+)?[0-9A-Zµμa-z]*([.,]\d+([eE][+-]\d+)?[0-9A-Zµμa-z]*)*`)
	// addressRun matches every IP address, and other texts.
	addressRun = regexp.MustCompile(`^(\[[0-9a-fA-F:.]{1,45}(%\w{1,16})?\](:\d{1,5})?|[0-9a-fA-F:.]{1,52}(%\w{1,16})?)`)
)

// quoted returns the length of the quotation that text begins with, or 0 if
// it does not end.
func quoted(text string) int {
	mark := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && mark == '"':
			i++
		case text[i] == mark && (mark != '\'' || i+1 == len(text) || text[i+1] != '<' && !isWord(text[i+1])):
			return i + 1
		}
	}
	return 0
}

// ends reports whether a word can end after that many bytes.
func ends(text string, length int) bool { return length == len(text) || !isWord(text[length]) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord reports whether a byte is part of a word. Bytes beyond ASCII are.
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 128
}
