package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/words"
)

// commandLine returns a line for a shell that runs a verb of busgen, such as "dlq retry", with
// flags and with operands, which may begin with a hyphen.
func commandLine(verb string, flags []string, operands ...string) string {
	line := []string{"busgen", verb}
	for _, flag := range flags {
		line = append(line, quoted(flag))
	}
	if slices.ContainsFunc(operands, func(o string) bool { return strings.HasPrefix(o, "-") }) {
		line = append(line, "--")
	}
	for _, operand := range operands {
		line = append(line, quoted(operand))
	}
	return strings.Join(line, " ")
}

// quoted writes one argument for a shell. One with characters that do not show
// themselves has escapes, which bash, zsh and others know.
func quoted(arg string) string {
	switch {
	case strings.ContainsFunc(arg, func(c rune) bool { return !words.Printable(c) || c == '\uFFFD' }):
		var b strings.Builder
		for _, c := range []byte(arg) {
			if c < ' ' || c > '~' || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, `\x%02x`, c)
			} else {
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	case arg != "" && !strings.ContainsFunc(arg, func(c rune) bool { return !strings.ContainsRune(plain, c) }):
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// plain are the characters that a shell takes as they are.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@,+="
