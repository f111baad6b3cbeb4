package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// indentation is the number of spaces for each level.
const indentation = 2

// Format returns a catalogue in its canonical form: known keys in their order, indentation by two spaces,
// at most one blank line in a row, no spaces at the end of lines, and { } in one line with single spaces.
// Names (of events, types, fields, …) keep their order, and comments stay with what they are about.
// Formatting twice gives the same result as formatting once.
//
// The catalogue may have findings, but it must be YAML. The error says why it is not, or that the result
// would mean something else, which is a bug in this package.
func Format(source []byte) ([]byte, error) {
	d, err := read(source)
	if err != nil {
		return nil, err
	}
	if !isBlock(d.root) {
		return d.text(), nil // the whole catalogue is in { }, which is the author's choice
	}
	if hasAliases(d.root) {
		return nil, errors.New("it has YAML aliases, which catalogues cannot have")
	}
	f := &formatter{document: d}
	f.header()
	f.mapping(d.root, rootKeys, f.from, len(d.lines), 0)
	result := &document{lines: tidyEnd(f.out)}
	if err := sameMeaning(d, result.text()); err != nil {
		return nil, err
	}
	return result.text(), nil
}

// A formatter writes the lines of a document in canonical form.
type formatter struct {
	*document
	from int // the first line after the header
	out  []string
}

// header copies the lines above the catalogue: comments that end with a blank line, and the beginning of
// the YAML document.
func (f *formatter) header() {
	first := f.root.Content[0].Line - 1
	for i := first - 1; i >= 0; i-- {
		if !isComment(f.lines[i]) {
			f.from = i + 1
			break
		}
	}
	blank := false
	for _, line := range f.lines[:f.from] {
		if isBlank(line) {
			blank = true
			continue
		}
		if blank && len(f.out) > 0 {
			f.out = append(f.out, "")
		}
		blank = false
		f.out = append(f.out, strings.TrimRight(line, " \t"))
	}
	if blank && len(f.out) > 0 {
		f.out = append(f.out, "")
	}
}

// A chunk has the lines of one entry: the comments above it, its key, its value.
type chunk struct {
	key, value       *yaml.Node
	start, line, end int // of the first comment, of the key, after the value
}

// mapping writes a block mapping whose entries are in the lines from to end.
func (f *formatter) mapping(n *yaml.Node, about *context, from, end, indent int) {
	chunks := f.chunks(n, from, end)
	slices.SortStableFunc(chunks, func(a, b chunk) int { return about.rank(a.key.Value) - about.rank(b.key.Value) })
	for i, c := range chunks {
		f.above(f.lines[c.start:c.line], indent, i == 0)
		f.entry(c, about.of(c.key.Value), indent)
	}
}

// chunks divides lines among the entries of a mapping.
func (f *formatter) chunks(n *yaml.Node, from, end int) []chunk {
	var all []chunk
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		c := chunk{key: key, value: n.Content[i+1], start: from, line: key.Line - 1, end: end}
		if i > 0 {
			last := &all[len(all)-1]
			last.end = f.split(*last, c.line, key.Column-1)
			c.start = last.end
		}
		all = append(all, c)
	}
	return all
}

// split returns the line where an entry ends: after its value, and after comments that are indented further
// than its key.
func (f *formatter) split(c chunk, next, indent int) int {
	end := next
	for end > c.line+1 && (isBlank(f.lines[end-1]) || isComment(f.lines[end-1])) {
		end--
	}
	for i := end; i < next; i++ {
		switch {
		case isBlank(f.lines[i]):
			continue
		case indentOf(f.lines[i]) <= indent:
			return end
		}
		end = i + 1
	}
	if isText(c.value) {
		return next // blank lines may be part of it
	}
	return end
}

// above writes the comments above an entry, with its indentation.
func (f *formatter) above(lines []string, indent int, first bool) {
	blank := false
	for _, line := range lines {
		if isBlank(line) {
			blank = true
			continue
		}
		f.blank(blank && !first)
		blank, first = false, false
		f.out = append(f.out, strings.Repeat(" ", indent)+strings.TrimSpace(line))
	}
	f.blank(blank && !first)
}

func (f *formatter) blank(wanted bool) {
	if wanted && len(f.out) > 0 && f.out[len(f.out)-1] != "" {
		f.out = append(f.out, "")
	}
}

// entry writes the key, the value, and comments below them that are indented like the key, as at the end
// of the file.
func (f *formatter) entry(c chunk, about *context, indent int) {
	own := indentOf(f.lines[c.line])
	end := f.split(c, c.end, own)
	if isBlock(c.value) {
		f.out = append(f.out, shifted(strings.TrimRight(f.lines[c.line], " \t"), indent-own))
		f.mapping(c.value, about, c.line+1, end, indent+indentation)
	} else {
		f.verbatim(c, about, end, indent-own)
	}
	f.above(f.lines[end:c.end], indent, false)
}

// verbatim writes an entry whose value is not a block mapping.
func (f *formatter) verbatim(c chunk, about *context, end, shift int) {
	first := f.lines[c.line]
	if c.value.Line == c.key.Line {
		first = inFlow(first, c.value, about)
	}
	f.out = append(f.out, strings.TrimRight(shifted(first, shift), " \t"))
	items := itemsByLine(c.value)
	for i, line := range f.lines[c.line+1 : end] {
		if item := items[c.line+2+i]; item != nil {
			line = inFlow(line, item, about.of(""))
		}
		switch {
		case isText(c.value) && isBlank(line):
			f.out = append(f.out, "")
		case isText(c.value): // white space is part of the value
			f.out = append(f.out, shifted(line, shift))
		case isBlank(line):
			f.blank(true)
		default:
			f.out = append(f.out, strings.TrimRight(shifted(line, shift), " \t"))
		}
	}
}

// itemsByLine returns the items of a block list that are in { } or [ ], by the line in which each begins.
func itemsByLine(n *yaml.Node) map[int]*yaml.Node {
	items := map[int]*yaml.Node{}
	if n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0 {
		for _, item := range n.Content {
			if item.Style&yaml.FlowStyle != 0 {
				items[item.Line] = item
			}
		}
	}
	return items
}

// isText reports whether a node is a scalar that may have several lines.
func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Style != 0 }

func shifted(line string, by int) string {
	text := strings.TrimLeft(line, " ")
	return strings.Repeat(" ", max(0, len(line)-len(text)+by)) + text
}

// tidyEnd removes blank lines at the end.
func tidyEnd(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func hasAliases(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || slices.ContainsFunc(n.Content, hasAliases)
}

// sameMeaning compares the input with the result.
func sameMeaning(before *document, after []byte) error {
	now, err := read(after)
	if err == nil && !same(before.root, now.root, rootKeys) {
		err = errors.New("it would mean something else")
	}
	if err == nil && !slices.Equal(before.comments(), now.comments()) {
		err = errors.New("a comment would get lost")
	}
	if err != nil {
		return fmt.Errorf("it cannot be formatted: %w; please report this, with the file", err)
	}
	return nil
}

// same compares nodes. The order of names matters, and the order of known keys does not.
func same(a, b *yaml.Node, about *context) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind != yaml.MappingNode {
		return slices.EqualFunc(a.Content, b.Content, func(x, y *yaml.Node) bool { return same(x, y, about.of("")) })
	}
	left, right := pairs(a, about), pairs(b, about)
	return slices.EqualFunc(left, right, func(x, y [2]*yaml.Node) bool {
		return x[0].Value == y[0].Value && same(x[1], y[1], about.of(x[0].Value))
	})
}

func pairs(n *yaml.Node, about *context) [][2]*yaml.Node {
	var all [][2]*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, [2]*yaml.Node{n.Content[i], n.Content[i+1]})
	}
	slices.SortStableFunc(all, func(x, y [2]*yaml.Node) int { return about.rank(x[0].Value) - about.rank(y[0].Value) })
	return all
}

// comments lists the words of all comments, sorted.
func (d *document) comments() []string {
	var all []string
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for _, text := range []string{n.HeadComment, n.LineComment, n.FootComment} {
			for line := range strings.SplitSeq(text, "\n") {
				if line = strings.TrimSpace(line); line != "" {
					all = append(all, line)
				}
			}
		}
		for _, below := range n.Content {
			visit(below)
		}
	}
	visit(d.root)
	slices.Sort(all)
	return all
}
