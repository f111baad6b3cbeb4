package edit

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// keepWas adds the name of a field to its former names (was), and removes the new name from them if the
// field had it before.
func (e *editor) keepWas(f foundField, to string) {
	from := f.key.Value
	was := below(f.body, "was")
	switch {
	case was != nil && was.Kind == yaml.SequenceNode:
		e.lengthen(f.home, was, from, to)
	case was != nil && was.Value == to:
		e.scalar(was, to, from)
	case was != nil:
		e.around(was, "[", ", "+quoted(from)+"]")
	case isBlock(f.body):
		at := f.home.place(f.path, "was", fieldKeys)
		f.home.insertBefore(at, strings.Repeat(" ", f.body.Content[0].Column-1)+"was: "+quoted(from))
	case f.body.Kind == yaml.ScalarNode:
		open, end := "{ type: ", ", was: "+quoted(from)+" }"
		if f.body.Style == 0 && strings.ContainsAny(f.body.Value, "?[]{},") {
			open, end = open+`"`, `"`+end // it can be plain outside of braces only
		}
		e.around(f.body, open, end)
	default:
		if before := e.beforeWas(f.body); before != nil {
			e.around(before, "", ", was: "+quoted(from))
		} else {
			e.openBrace(f.home, f.body, "was: "+quoted(from))
		}
	}
}

// beforeWas returns the value in { } after which was belongs, or nil if none is in this line.
func (e *editor) beforeWas(body *yaml.Node) *yaml.Node {
	var last *yaml.Node
	for _, key := range fieldKeys.keys[:fieldKeys.rank("was")] {
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
