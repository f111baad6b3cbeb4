package text

import (
	"cmp"
	"sort"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// A source is the text of one file, in lines as YAML counts them. YAML knows more line ends than most editors.
type source struct {
	file  string
	lines []string // without line ends
	runes [][]rune // the same lines, for counting columns
	// rank is the place of the file among all, and before the number of lines in those before it: YAML nodes know their
	// line, and not their file, so the lines of all files are numbered through.
	rank, before int
	// hidden is set unless the file is a catalogue: nothing of it is shown.
	hidden bool
}

// sources are the files that were read so far, in this order.
type sources struct {
	all    []*source
	byName map[string]*source
	bytes  int  // of all but the root
	Full   bool // nothing more can be read
}

func (s *sources) add(file string, text []byte) *source {
	src := &source{file: file, lines: strings.Split(diag.Normalize(text), "\n"), rank: len(s.all)}
	for _, line := range src.lines {
		src.runes = append(src.runes, []rune(line))
	}
	if src.rank > 0 {
		last := s.all[src.rank-1]
		src.before = last.before + len(last.lines) + 1 // YAML can see an end in the line behind the last
	}
	if s.byName == nil {
		s.byName = map[string]*source{}
	}
	s.all, s.byName[file] = append(s.all, src), src
	return src
}

// Admit counts a file besides the root. It returns false if a catalogue may not have so many files or bytes, and for
// all files after it.
func (s *sources) Admit(bytes, mostFiles, mostBytes int) bool {
	s.bytes += bytes
	s.Full = s.Full || len(s.all) > mostFiles || s.bytes > mostBytes
	return !s.Full
}

// number moves the lines of n, and of what is inside, behind those of the files before.
func (s *source) number(n *yaml.Node) {
	if s.before == 0 {
		return
	}
	n.Line += s.before
	for _, inside := range n.Content {
		s.number(inside)
	}
}

// Position returns where a node begins.
func (s *sources) Position(n *yaml.Node) diag.Position {
	i := sort.Search(len(s.all), func(i int) bool { return s.all[i].before >= n.Line }) - 1
	src := s.all[max(i, 0)]
	return diag.Position{File: src.file, Line: n.Line - src.before, Column: n.Column}
}

// Compare sorts positions by file, in the order in which they were read, and then by place.
func (s *sources) Compare(a, b diag.Position) int {
	if a.File != b.File {
		return cmp.Compare(s.byName[a.File].rank, s.byName[b.File].rank)
	}
	return a.Compare(b)
}

// placeAt makes a place of a position and a length in characters, both moved
// into the file where they are outside of it.
func (s *sources) placeAt(pos diag.Position, length int) diag.Place {
	src := s.byName[pos.File]
	pos.Line = min(max(pos.Line, 1), len(src.lines))
	width := len(src.runes[pos.Line-1])
	pos.Column = min(max(pos.Column, 1), width+1)
	if src.hidden {
		return diag.Place{Pos: pos, Length: 1}
	}
	return diag.Place{
		Pos:    pos,
		Length: min(max(length, 1), max(1, width-pos.Column+1)),
		Line:   src.lines[pos.Line-1],
	}
}

// from returns the rest of the line from p on.
func (s *sources) from(p diag.Place) []rune {
	return s.byName[p.Pos.File].runes[p.Pos.Line-1][p.Pos.Column-1:]
}

// lineContent returns the place of a line's content, without its indentation.
func (s *sources) lineContent(file string, line int) diag.Place {
	p := s.placeAt(diag.Position{File: file, Line: line, Column: 1}, 1)
	content := strings.TrimSpace(p.Line)
	indent := utf8.RuneCountInString(p.Line[:strings.Index(p.Line, content)])
	p.Pos.Column = indent + 1
	return s.placeAt(p.Pos, utf8.RuneCountInString(content))
}

// Place returns the place of a node: all of a scalar that fits its line, and the beginning of everything else.
func (s *sources) Place(n *yaml.Node) diag.Place {
	length := 1
	switch n.Kind {
	case yaml.ScalarNode:
		switch {
		case IsQuoted(n):
			return s.quotedAt(s.Position(n))
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0:
			length = utf8.RuneCountInString(n.Value)
		}
	case yaml.AliasNode:
		length = 1 + utf8.RuneCountInString(n.Value)
	case yaml.MappingNode:
		if n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 {
			return s.Place(n.Content[0])
		}
	}
	return s.placeAt(s.Position(n), length)
}

// IsQuoted reports whether n is written in quotes.
func IsQuoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
}

// quotedAt returns the place of a quoted scalar up to its closing quote, or to the end of the line if it
// continues in the next.
func (s *sources) quotedAt(pos diag.Position) diag.Place {
	p := s.placeAt(pos, 1)
	text := s.from(p)
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

// PlaceIn returns the place of length bytes from offset on in a scalar's text. Where escapes or folding make
// text and source differ, it returns that of the whole scalar.
func (s *sources) PlaceIn(n *yaml.Node, offset, length int) diag.Place {
	p := s.Place(n)
	text, skip := s.from(p), 0
	if IsQuoted(n) && len(text) > 0 {
		skip = 1
	}
	written := text[skip:min(len(text), skip+utf8.RuneCountInString(n.Value))]
	if string(written) != n.Value {
		return p
	}
	before := utf8.RuneCountInString(n.Value[:offset])
	within := utf8.RuneCountInString(n.Value[offset : offset+length])
	p.Pos.Column += skip + before
	return s.placeAt(p.Pos, within)
}

// WordAt returns the place of a value without spaces that was read before.
func (s *sources) WordAt(pos diag.Position) diag.Place {
	p := s.placeAt(pos, 1)
	for _, c := range s.from(p)[1:] {
		if strings.ContainsRune(" \t,}]#", c) {
			break
		}
		p.Length++
	}
	return p
}

// NameAt returns the place of a name that was read before.
func (s *sources) NameAt(name catalog.Value[string]) diag.Place {
	p := s.placeAt(name.Pos, utf8.RuneCountInString(name.V))
	if text := s.from(p); len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		return s.quotedAt(name.Pos)
	}
	return p
}

// TypeAt returns the place of a type that was read before.
func (s *sources) TypeAt(t *catalog.TypeRef) diag.Place {
	return s.placeAt(t.Pos, utf8.RuneCountInString(t.Text))
}
