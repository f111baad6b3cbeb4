package handbook

import (
	"regexp"
	"strings"
)

// span is code within a sentence, which may go on in the next line.
var span = regexp.MustCompile("`([^`\n]+(?:\n[^`\n]+)*)`")

// Spans returns the command lines of a program in the sentences and tables of a page: the code
// between backticks that begins with its name, without "go tool". They are often parts, such as a verb alone, so no
// test runs them.
func Spans(page, text, program string) (commands []Command) {
	var sentences strings.Builder // with the lines of the page, those of code left empty
	last := 0
	eachLine(text, func(number int, line, block string) {
		sentences.WriteString(strings.Repeat("\n", number-last))
		if last = number; block == prose {
			sentences.WriteString(line)
		}
	})
	all := sentences.String()
	for _, at := range span.FindAllStringSubmatchIndex(all, -1) {
		words := strings.Fields(strings.TrimPrefix(all[at[2]:at[3]], "go tool "))
		if len(words) > 1 && words[0] == program {
			line := strings.Count(all[:at[0]], "\n")
			commands = append(commands, Command{Page: page, Line: line, Text: strings.Join(words, " ")})
		}
	}
	return commands
}
