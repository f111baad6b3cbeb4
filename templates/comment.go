package templates

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/words"
)

// commentWidth is where the text of a comment wraps: at column 80, less the
// marker.
const commentWidth = 77

// comment makes a // comment of paragraphs, with blank comment lines between
// them and a line break at the end. Empty paragraphs are left out.
//
// Some paragraphs are from the catalogue. Jennifer would
// pass a text that begins with // through as it is, and put one with a line
// break between /* and */, which the text could close; and a comment without
// a space after // can be a directive to the compiler or a linter. So every
// line is given its own "// " here, and jennifer gets no say.
func comment(paragraphs ...string) *jen.Statement {
	statement := jen.Null()
	for _, line := range commentLines(paragraphs) {
		statement.Comment(strings.TrimRight("// "+line, " ")).Line()
	}
	return statement
}

func commentLines(paragraphs []string) []string {
	var lines []string
	for _, paragraph := range paragraphs {
		wrapped := wrap(paragraph)
		if len(wrapped) == 0 {
			continue
		}
		if lines != nil {
			lines = append(lines, "")
		}
		lines = append(lines, wrapped...)
	}
	return lines
}

// verbatim recognizes lines whose breaks mean something in a Go comment: code,
// which is indented, list items and headings.
var verbatim = regexp.MustCompile(`^(\s|[-*+•#]\s|\d+[.)]\s)`)

// wrap breaks text into lines for a comment. Lines that run on are filled up;
// blank lines, code, lists and headings stay as they are.
func wrap(text string) []string {
	var lines []string
	var words []string // of lines that run on, so far
	for _, line := range strings.Split(strings.Trim(plain(text), "\n"), "\n") {
		line = strings.TrimRight(line, " \t")
		if line != "" && !verbatim.MatchString(line) {
			words = append(words, strings.Fields(line)...)
			continue
		}
		lines = append(filled(lines, words), notBuildTag(line))
		words = nil
	}
	lines = filled(lines, words)
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines
}

// filled adds lines of as many words as fit.
func filled(lines, words []string) []string {
	for len(words) > 0 {
		n, width := 1, utf8.RuneCountInString(words[0])
		for ; n < len(words); n++ {
			if width += 1 + utf8.RuneCountInString(words[n]); width > commentWidth {
				break
			}
		}
		lines = append(lines, notBuildTag(strings.Join(words[:n], " ")))
		words = words[n:]
	}
	return lines
}

// notBuildTag keeps a line from being taken for a build constraint of the old
// form, `// +build`, which a space does not disarm.
func notBuildTag(line string) string {
	if rest, found := strings.CutPrefix(strings.TrimLeft(line, " \t"), "+build"); found {
		return `"+build"` + rest
	}
	return line
}

// plain replaces what cannot be seen in an editor (control characters, and
// the marks that change the direction of text, with which code can be made to
// read differently than it compiles) by its escape.
func plain(text string) string {
	const joiner = '\u200d' // holds compound emoji together
	seen := func(r rune) bool { return unicode.IsPrint(r) || r == '\n' || r == '\t' || r == joiner }
	return words.Escape(lineEnds.Replace(text), seen)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// oneLine is plain for text that must stay on one line, such as a file's name.
func oneLine(text string) string { return strings.Join(strings.Fields(plain(text)), " ") }

// deprecated returns the paragraph that marks something as deprecated, or
// nothing.
func deprecated(reason catalog.Value[string]) string {
	if !reason.Written() {
		return ""
	}
	return "Deprecated: " + reason.V
}

// ownership returns the paragraph that says who answers for an event and where
// it belongs, or nothing.
func ownership(e *catalog.Event) string {
	var words []string
	if e.Owner.Written() {
		words = append(words, "Owner: "+e.Owner.V+".")
	}
	if len(e.Tags) > 0 {
		var tags []string
		for _, tag := range e.Tags {
			tags = append(tags, tag.V)
		}
		words = append(words, "Tags: "+strings.Join(tags, ", ")+".")
	}
	return strings.Join(words, " ")
}

// listing joins words as English does: a, b or c.
func listing(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
