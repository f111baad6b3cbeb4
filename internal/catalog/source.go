package catalog

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// newReader splits source into lines the way YAML counts them, which knows
// more line ends than most editors do.
func newReader(file string, source []byte) *reader {
	text := lineEnds.Replace(strings.TrimPrefix(string(source), byteOrderMark))
	r := &reader{file: file, lines: strings.Split(text, "\n"), types: map[string]*Type{}, subscribed: map[string]subscribed{}}
	for _, line := range r.lines {
		r.runes = append(r.runes, []rune(line))
	}
	return r
}

const byteOrderMark = "\uFEFF"

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// position is where a node begins.
func (r *reader) position(n *yaml.Node) Position {
	return Position{File: r.file, Line: n.Line, Column: n.Column}
}

// placeAt makes a place of a line, column and length, all moved into the file
// where they are outside of it.
func (r *reader) placeAt(line, column, length int) Place {
	line = min(max(line, 1), len(r.lines))
	width := len(r.runes[line-1])
	column = min(max(column, 1), width+1)
	return Place{
		Pos:    Position{File: r.file, Line: line, Column: column},
		Length: min(max(length, 1), max(1, width-column+1)),
		Line:   r.lines[line-1],
	}
}

// from is the rest of the line in which p is, from p on.
func (r *reader) from(p Place) []rune { return r.runes[p.Pos.Line-1][p.Pos.Column-1:] }

// lineContent is the place of what a line says, without its indentation.
func (r *reader) lineContent(line int) Place {
	p := r.placeAt(line, 1, 1)
	content := strings.TrimSpace(p.Line)
	indent := utf8.RuneCountInString(p.Line[:strings.Index(p.Line, content)])
	return r.placeAt(p.Pos.Line, indent+1, utf8.RuneCountInString(content))
}

// place is where a node is written: all of a scalar that fits its line, and
// the beginning of everything else.
func (r *reader) place(n *yaml.Node) Place {
	switch n.Kind {
	case yaml.ScalarNode:
		switch {
		case isQuoted(n):
			return r.quotedAt(r.position(n))
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			return r.placeAt(n.Line, n.Column, 1)
		}
		return r.placeAt(n.Line, n.Column, utf8.RuneCountInString(n.Value))
	case yaml.AliasNode:
		return r.placeAt(n.Line, n.Column, 1+utf8.RuneCountInString(n.Value))
	case yaml.MappingNode:
		if n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 {
			return r.place(n.Content[0])
		}
	}
	return r.placeAt(n.Line, n.Column, 1)
}

func isQuoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
}

// quotedAt is the place of a quoted scalar up to its closing quote, or to the
// end of the line if it goes on in the next.
func (r *reader) quotedAt(pos Position) Place {
	p := r.placeAt(pos.Line, pos.Column, 1)
	text := r.from(p)
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == text[0] && text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == text[0]:
			p.Length = i + 1
			return p
		}
	}
	p.Length = max(1, len(text))
	return p
}

// placeIn is the place of length bytes from offset on in a scalar's text. Where
// escapes or folding make text and source differ, it is the whole scalar.
func (r *reader) placeIn(n *yaml.Node, offset, length int) Place {
	p := r.place(n)
	text, skip := r.from(p), 0
	if isQuoted(n) && len(text) > 0 {
		skip = 1
	}
	written := text[skip:min(len(text), skip+utf8.RuneCountInString(n.Value))]
	if string(written) != n.Value {
		return p
	}
	before := utf8.RuneCountInString(n.Value[:offset])
	within := utf8.RuneCountInString(n.Value[offset : offset+length])
	return r.placeAt(p.Pos.Line, p.Pos.Column+skip+before, within)
}

// wordAt is the place of a value without spaces that was read before.
func (r *reader) wordAt(pos Position) Place {
	p := r.placeAt(pos.Line, pos.Column, 1)
	for _, c := range r.from(p)[1:] {
		if strings.ContainsRune(" \t,}]#", c) {
			break
		}
		p.Length++
	}
	return p
}

// nameAt is the place of a name that was read before.
func (r *reader) nameAt(name Value[string]) Place {
	p := r.placeAt(name.Pos.Line, name.Pos.Column, utf8.RuneCountInString(name.V))
	if text := r.from(p); len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		return r.quotedAt(name.Pos)
	}
	return p
}
