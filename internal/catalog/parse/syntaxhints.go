package parse

import (
	"regexp"
	"strconv"
	"strings"
)

// The mistakes that the catalogue language invites, because its notation
// means something else to YAML.
var (
	tabIndent = regexp.MustCompile(`^ *\t`)
	bareStar  = regexp.MustCompile(`(^|[\s{,])\*`)
	// quoted is a text in quotes, where a value or a key can begin.
	quoted = regexp.MustCompile(`(^\s*|[{,\[]\s*|[:-]\s+)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')`)
	// bareValue is a value as people write it, up to the next comma or brace.
	bareValue = regexp.MustCompile(`:\s+((?:\[\]|map\[[^\],{}]*\]|\{\}|[^,{}\[\]])+)`)
)

// filler stands for what is in quotes.
const filler = "\x00" // as long as one byte of it

func syntaxHint(line, message string) string {
	inFlow := strings.Contains(message, "expected ',' or")
	switch {
	case tabIndent.MatchString(line):
		return "YAML is indented with spaces, not with tabs"
	case strings.Contains(message, "cannot start any token"):
		return "a string that begins with @, % or a backquote needs quotes"
	case bareStar.MatchString(withoutQuoted(line)) && (strings.Contains(message, "alphabetic or numeric") || strings.Contains(message, "anchor")):
		return "a pattern that begins with * needs quotes: \"*.failed\""
	case inFlow || strings.Contains(message, "expected key"):
		return bareValueHint(line, inFlow)
	case strings.Contains(message, "mapping values are not allowed"):
		return "a string with a colon in it needs quotes; or does the line before lack its colon?"
	}
	return ""
}

// bareValueHint is about the first value of a line that YAML cannot read.
func bareValueHint(line string, inFlow bool) string {
	plain := withoutQuoted(line)
	for _, at := range bareValue.FindAllStringSubmatchIndex(plain, -1) {
		masked := strings.TrimSpace(plain[at[2]:at[3]])
		value := strings.TrimSpace(line[at[2]:at[3]])
		switch behind := strings.TrimLeft(masked, filler); {
		case behind != masked && behind != "":
			return "nothing can follow a closing quote: put all of the value into the quotes"
		case behind != masked:
		case len(masked) > len("[]") && strings.HasPrefix(masked, "[]"):
			return value + " needs quotes: " + strconv.Quote(value)
		case inFlow && (strings.ContainsAny(masked, "[?") && masked != "[]" || strings.Contains(masked, ": ")):
			return value + " needs quotes inside { }: " + strconv.Quote(value)
		}
	}
	return ""
}

// withoutQuoted returns a line of the same length in which quoted strings and the comment are blanked out.
func withoutQuoted(line string) string {
	line = quoted.ReplaceAllStringFunc(line, func(found string) string {
		i := strings.IndexAny(found, `"'`)
		return found[:i] + strings.Repeat(filler, len(found)-i)
	})
	if i := strings.Index(line, " #"); i >= 0 {
		line = line[:i]
	}
	return line
}
