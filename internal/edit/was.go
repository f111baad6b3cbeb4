package edit

import (
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/plainjson"
)

// keepWas adds the name in JSON that a field had to its former names (was), and removes the new one from them if
// the field had it before.
func (e *editor) keepWas(f foundField, from, to string) {
	was := below(f.body, "was")
	switch {
	case was != nil && was.Kind == yaml.SequenceNode:
		e.lengthen(f.home, was, from, to)
	case was != nil && was.Value == to:
		e.scalar(was, to, from)
	case was != nil:
		e.around(was, "[", ", "+jsonText(from)+"]")
	default:
		e.describe(f, "was", jsonText(from))
	}
}

// describe adds a key to the body of a field, which has none of them.
func (e *editor) describe(f foundField, name, value string) {
	entry := name + ": " + value
	switch {
	case isBlock(f.body):
		at := f.home.place(f.path, name, fieldKeys)
		f.home.insertBefore(at, strings.Repeat(" ", f.body.Content[0].Column-1)+entry)
	case f.body.Kind == yaml.ScalarNode:
		open, end := "{ type: ", ", "+entry+" }"
		if f.body.Style == 0 && strings.ContainsAny(f.body.Value, "?[]{},") {
			open, end = open+`"`, `"`+end // it can be plain outside of braces only
		}
		e.around(f.body, open, end)
	default:
		if before := e.before(f.body, name); before != nil {
			e.around(before, "", ", "+entry)
		} else {
			e.openBrace(f.home, f.body, entry)
		}
	}
}

// jsonText returns a name in JSON as a scalar that can be inside of brackets.
func jsonText(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' }) {
		return string(plainjson.Quote(name))
	}
	return quoted(name)
}

// before returns the value in { } after which a key of a field belongs, or nil if none is in this line.
func (e *editor) before(body *yaml.Node, name string) *yaml.Node {
	var last *yaml.Node
	for _, key := range fieldKeys.keys[:fieldKeys.rank(name)] {
		if n := below(body, key); n != nil && n.Kind == yaml.ScalarNode {
			if _, _, ok := e.scalarText(n); ok {
				last = n
			}
		}
	}
	return last
}

// scalarText returns a scalar as written in its line, and the column where it ends.
func (e *editor) scalarText(n *yaml.Node) (text string, end int, ok bool) {
	return flowWriter{[]rune(e.home[n].lines[n.Line-1]), n.Line}.scalar(n, n.Column-1)
}

// around inserts text before and after a scalar.
func (e *editor) around(n *yaml.Node, before, behind string) {
	d := e.home[n]
	text, end, ok := e.scalarText(n)
	if !ok {
		e.fail(n, n.Value)
		return
	}
	e.places[d] = append(e.places[d], replacement{n.Line, n.Column, end - n.Column + 1, before + text + behind})
}
