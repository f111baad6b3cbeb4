package text

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// Document parses the text of a file, which is what for messages. It returns the root of its only YAML document, or
// nil after reporting why there is none. YAML aliases stay what they are, so a document cannot grow beyond what is
// written in it.
func (r *Reader) Document(file, what string, text []byte) *yaml.Node {
	src := r.sources.add(file, text)
	src.hidden = !beginsAsCatalogue.Match(text)
	if !r.checkEncoding(src) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, next yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && IsNull(doc.Content[0]) {
		r.Report(r.placeAt(diag.Position{File: file, Line: 1, Column: 1}, 1), rules.OneDocument, "the catalogue is empty").
			Hint = "\"busgen init\" writes one to start from"
		return nil
	}
	if err != nil {
		r.syntaxError(src, text, err)
		return nil
	}
	if src.hidden = !hasVersion(doc.Content[0]); src.hidden {
		src.number(doc.Content[0])
		r.notCatalogue(what, doc.Content[0])
		return nil
	}
	switch err := decoder.Decode(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.syntaxError(src, text, err)
	default:
		at := r.placeAt(diag.Position{File: file, Line: next.Line, Column: next.Column}, 1)
		r.Report(at, rules.OneDocument, "a second YAML document begins here").
			Hint = "a catalogue is one document: move this into a file of its own"
	}
	src.number(doc.Content[0])
	tagNumbers(doc.Content[0])
	return doc.Content[0]
}

// beginsAsCatalogue matches what is likely to be a catalogue if it were YAML.
var beginsAsCatalogue = regexp.MustCompile(`(?m)^version:[ \t]*1\b|\A\s*\{\s*"?version"?\s*:\s*1\b`)

// HasVersion tells a catalogue, or a part of one, from other files in YAML.
func HasVersion(text []byte) bool {
	var doc yaml.Node
	return yaml.Unmarshal(text, &doc) == nil && len(doc.Content) > 0 && hasVersion(doc.Content[0])
}

func hasVersion(root *yaml.Node) bool {
	for i := 0; i+1 < len(root.Content) && root.Kind == yaml.MappingNode; i += 2 {
		if root.Content[i].Value == "version" {
			return true
		}
	}
	return false
}

// notCatalogue reports a file without a version, and shows nothing of it: an include can name any file of the
// computer, whose content must not show in the log of a CI.
func (r *Reader) notCatalogue(what string, root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		untagged := *root
		untagged.Tag = "" // the tag is a part of the file, too
		r.WrongKind(&untagged, what, "a mapping")
		return
	}
	r.Version(Object{Node: root, What: what})
}

// checkEncoding finds bytes that YAML refuses without saying where.
func (r *Reader) checkEncoding(src *source) bool {
	ok := true
	for i, line := range src.lines {
		column := 0
		for at, c := range line {
			column++
			_, width := utf8.DecodeRuneInString(line[at:])
			switch {
			case c == utf8.RuneError && width == 1:
				r.Report(r.placeAt(diag.Position{File: src.file, Line: i + 1, Column: column}, 1), rules.Encoding, "this byte is not UTF-8").
					Hint = "save the file as UTF-8"
			case unicode.IsControl(c) && c != '\t' || c == '\uFEFF' || c == '\uFFFE' || c == '\uFFFF':
				r.Report(r.placeAt(diag.Position{File: src.file, Line: i + 1, Column: column}, 1), rules.Encoding, "control character %U is not allowed", c).
					Hint = "remove it, or write it as an escape in double quotes"
			default:
				continue
			}
			ok = false
			break // one per line is enough: a file in another encoding is wrong everywhere
		}
		if !ok && src.hidden {
			break
		}
	}
	return ok
}

// syntaxError reports what the YAML parser refused. The parser's own line is that of the construct around the error,
// and sometimes off by one, so the line is found by asking: which is the first that makes it fail like this?
func (r *Reader) syntaxError(src *source, text []byte, err error) {
	message := syntaxMessage(err)
	if src.hidden {
		message = "and it does not begin as a catalogue does, with version: 1"
	}
	lines := strings.SplitAfter(diag.Normalize(text), "\n")
	first := sort.Search(len(lines), func(n int) bool {
		partial := parseError([]byte(strings.Join(lines[:n+1], "")))
		return partial != nil && partial.Error() == err.Error()
	})
	at := r.lineContent(src.file, first+1)
	r.Report(at, rules.Syntax, "this is not well-formed YAML: %s", message).Hint = syntaxHint(at.Line, message)
}

// parseError parses all documents of source and returns the first error.
func parseError(source []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

var syntaxPrefix = regexp.MustCompile(`^yaml: (line \d+: )?`)

func syntaxMessage(err error) string { return syntaxPrefix.ReplaceAllString(err.Error(), "") }

// The mistakes that the catalogue language invites, because its notation means something else to YAML.
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
	case bareStar.MatchString(withoutQuoted(line)) &&
		(strings.Contains(message, "alphabetic or numeric") || strings.Contains(message, "anchor")):
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
