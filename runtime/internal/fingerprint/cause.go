package fingerprint

import (
	"regexp"
	"strings"
)

// Some numbers and quotations say what has failed, and not for which event. They stay: codes after the words for them,
// and the names of things that a program has few of. There are at most a thousand codes of a kind.

// codes are the words that a code follows, in small letters, and what it looks like. A longer word may end with one:
// StatusCode.
var codes = []struct {
	word string
	code *regexp.Regexp
}{
	{"sqlstate", regexp.MustCompile(`^[0-9A-Z]{5}`)}, // 23505, 42P01
	{"status", shortCode}, {"exit", shortCode}, {"errno", shortCode}, {"signal", shortCode}, {"smtp", shortCode}, {"http", shortCode},
	{"http/<n>", shortCode}, // HTTP/1.1 404 Not Found
	{"code", regexp.MustCompile(`^([0-9]{1,3}|[A-Z][0-9]{1,3}|-32[0-9]{3})`)}, // of JSON-RPC the last
	{"error", regexp.MustCompile(`^[0-9]{1,4}`)},                              // of MySQL: Error 1062 (23000)
	{"ora", regexp.MustCompile(`^[0-9]{5}`)},                                  // ORA-00942
}

var shortCode = regexp.MustCompile(`^[0-9]{1,3}`)

// code returns the length of the code that in begins with, or 0.
func (n *normalizer) code() int {
	before := n.before(" :=(#-")
	if before == "" {
		return 0
	}
	for _, c := range codes {
		if !strings.HasSuffix(before, c.word) {
			continue
		}
		found := len(c.code.FindString(n.in))
		if found > 0 && ends(n.in, found) && !(found+1 < len(n.in) && strings.IndexByte(".,:", n.in[found]) >= 0 && isDigit(n.in[found+1])) {
			return found
		}
	}
	return 0
}

// things are the words in front of a quoted name that says what has failed.
var things = map[string]bool{
	"relation": true, "table": true, "column": true, "constraint": true, "index": true, "function": true, "schema": true, "database": true,
	"role": true, "sequence": true, "view": true, "trigger": true, "extension": true, "package": true, "module": true, "template": true,
	"open": true, "stat": true, "lstat": true, "mkdir": true, "exec": true, "chdir": true,
}

// plainName is a name or a path of letters: a name with digits may be made for an event.
var plainName = regexp.MustCompile("^[\"'`][A-Za-z_./-]{1,64}[\"'`]$")

// names reports whether a quotation is the name of such a thing.
func (n *normalizer) names(quotation string) bool {
	return things[n.before(" ")] && plainName.MatchString(quotation)
}

// longestWord is how far before looks back.
const longestWord = 32

// before returns the word in front of what comes next, in small letters, if only up to three of the separators are between.
func (n *normalizer) before(separators string) string {
	out := n.out.String()
	out = out[max(0, len(out)-longestWord):]
	word := strings.TrimRight(out, separators)
	if between := len(out) - len(word); between == 0 || between > 3 {
		return ""
	}
	if strings.HasSuffix(strings.ToLower(word), "http/<n>") {
		return "http/<n>"
	}
	start := len(word)
	for start > 0 && isWord(word[start-1]) && !isDigit(word[start-1]) {
		start--
	}
	return strings.ToLower(word[start:])
}
