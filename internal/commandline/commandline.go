// Package commandline writes command lines of busgen that a person copies into a shell. The command, the page for
// operators and hints in errors share it: what they print works in every folder.
package commandline

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/words"
)

// Of returns a line for a shell that runs a verb of busgen, such as "dlq retry", with flags, on the file or the address
// of a bus, and with more operands, which may begin with a hyphen. The path of a file is absolute, so that the line
// works in another folder, too.
func Of(verb string, flags []string, target string, more ...string) string {
	line := []string{"busgen", verb}
	for _, flag := range flags {
		line = append(line, Quoted(flag))
	}
	operands := append([]string{absolute(target)}, more...)
	if slices.ContainsFunc(operands, func(o string) bool { return strings.HasPrefix(o, "-") }) {
		line = append(line, "--")
	}
	for _, operand := range operands {
		line = append(line, Quoted(operand))
	}
	return strings.Join(line, " ")
}

// absolute returns the path from the root of a file. An address stays as it is.
func absolute(target string) string {
	if strings.Contains(target, "://") {
		return target
	}
	if path, err := filepath.Abs(target); err == nil {
		return path
	}
	return target // there is no current folder
}

// Quoted writes one argument for a shell. One with characters that do not show
// themselves has escapes, which bash, zsh and others know.
func Quoted(arg string) string {
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
