package parse

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// document parses the text of a file, which is what for messages. It returns the root of its only YAML document, or
// nil after reporting why there is none. YAML aliases stay what they are, so a document cannot grow beyond what is
// written in it.
func (r *Reader) document(file, what string, text []byte) *yaml.Node {
	src := r.sources.add(file, text)
	src.hidden = !beginsAsCatalogue.Match(text)
	if !r.checkEncoding(src) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, next yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && isNull(doc.Content[0]) {
		r.report(r.placeAt(diag.Position{File: file, Line: 1, Column: 1}, 1), rules.OneDocument, "the catalogue is empty").
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
		r.report(r.placeAt(diag.Position{File: file, Line: next.Line, Column: next.Column}, 1), rules.OneDocument, "a second YAML document begins here").
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
		r.wrongKind(&untagged, what, "a mapping")
		return
	}
	r.version(object{node: root, what: what})
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
				r.report(r.placeAt(diag.Position{File: src.file, Line: i + 1, Column: column}, 1), rules.Encoding, "this byte is not UTF-8").
					Hint = "save the file as UTF-8"
			case unicode.IsControl(c) && c != '\t' || c == '\uFEFF' || c == '\uFFFE' || c == '\uFFFF':
				r.report(r.placeAt(diag.Position{File: src.file, Line: i + 1, Column: column}, 1), rules.Encoding, "control character %U is not allowed", c).
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

// syntaxError reports what the YAML parser refused. The parser's own line is
// that of the construct around the error, and sometimes off by one, so the
// line is found by asking: which is the first that makes it fail like this?
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
	r.report(at, rules.Syntax, "this is not well-formed YAML: %s", message).Hint = syntaxHint(at.Line, message)
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
