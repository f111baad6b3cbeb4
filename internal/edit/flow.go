package edit

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// inFlow formats the { } or [ ] of a node in a line: keys in order, single spaces. If it does not end in
// this line, or is unusual in another way, inFlow returns the line as it is.
func inFlow(line string, n *yaml.Node, about *context) string {
	if n.Kind == yaml.ScalarNode {
		return line
	}
	runes := []rune(line)
	w := flowWriter{runes, n.Line}
	text, end, ok := w.node(n, n.Column-1, about)
	if !ok {
		return line
	}
	return string(runes[:n.Column-1]) + text + string(runes[end:])
}

type flowWriter struct {
	line []rune
	n    int // the line number
}

// node returns the canonical text of a node that begins at a column (from 0), and the column where it
// ends.
func (w flowWriter) node(n *yaml.Node, column int, about *context) (text string, end int, ok bool) {
	if n.Line != w.n || column != n.Column-1 || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return "", 0, false
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return w.scalar(n, column)
	case yaml.MappingNode:
		return w.mapping(n, column, about)
	case yaml.SequenceNode:
		return w.sequence(n, column, about)
	}
	return "", 0, false
}

func (w flowWriter) scalar(n *yaml.Node, column int) (text string, end int, ok bool) {
	switch {
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		end = w.closingQuote(column)
	case n.Style == 0 && n.Value != "":
		end = column + len([]rune(n.Value))
	}
	if end <= column || end > len(w.line) {
		return "", 0, false
	}
	text = string(w.line[column:end])
	return text, end, n.Style != 0 || text == n.Value
}

// closingQuote returns the column after the quote that ends a text, or 0 if it is not in this line.
func (w flowWriter) closingQuote(column int) int {
	quote := w.line[column]
	for i := column + 1; i < len(w.line); i++ {
		switch {
		case quote == '"' && w.line[i] == '\\':
			i++
		case w.line[i] == quote && quote == '\'' && i+1 < len(w.line) && w.line[i+1] == quote:
			i++
		case w.line[i] == quote:
			return i + 1
		}
	}
	return 0
}

func (w flowWriter) mapping(n *yaml.Node, column int, about *context) (text string, end int, ok bool) {
	if w.line[column] != '{' {
		return "", 0, false
	}
	type entry struct{ key, text string }
	var entries []entry
	end = column + 1
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		keyText, _, keyOK := w.node(key, key.Column-1, about)
		valueText, valueEnd, valueOK := w.node(val, val.Column-1, about.of(key.Value))
		if !keyOK || !valueOK {
			return "", 0, false
		}
		entries = append(entries, entry{key.Value, keyText + ": " + valueText})
		end = valueEnd
	}
	if end, ok = w.closed(end, '}'); !ok {
		return "", 0, false
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return about.rank(a.key) - about.rank(b.key) })
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.text)
	}
	if texts == nil {
		return "{}", end, true
	}
	return "{ " + strings.Join(texts, ", ") + " }", end, true
}

func (w flowWriter) sequence(n *yaml.Node, column int, about *context) (text string, end int, ok bool) {
	if w.line[column] != '[' {
		return "", 0, false
	}
	var texts []string
	end = column + 1
	for _, item := range n.Content {
		itemText, itemEnd, itemOK := w.node(item, item.Column-1, about.of(""))
		if !itemOK {
			return "", 0, false
		}
		texts = append(texts, itemText)
		end = itemEnd
	}
	if end, ok = w.closed(end, ']'); !ok {
		return "", 0, false
	}
	return "[" + strings.Join(texts, ", ") + "]", end, true
}

// closed finds the bracket that ends a mapping or a list, after spaces and a comma.
func (w flowWriter) closed(from int, bracket rune) (end int, ok bool) {
	for i := from; i < len(w.line); i++ {
		switch w.line[i] {
		case ' ', ',':
		case bracket:
			return i + 1, true
		default:
			return 0, false
		}
	}
	return 0, false
}
