package catalog

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// doc is what is said about something: its `doc`, or else the comment directly above its
// key. It is without the space around it.
func (r *reader) doc(key *yaml.Node, o object) string {
	e, ok := o.entries["doc"]
	if !ok {
		return r.commentAbove(key)
	}
	v, _ := r.text(e.value, "doc of "+o.what)
	return strings.TrimSpace(v.V)
}

// commentAbove is the text of the comment that ends in the line before a key, or before an item of a
// list, and is indented like it. A # without a space behind it is something that is only for
// readers of the file, such as a rule or what is commented out.
func (r *reader) commentAbove(n *yaml.Node) string {
	pos := r.position(n)
	src := r.sources.byName[pos.File]
	lines, line := src.lines, src.runes[pos.Line-1]
	indent := 0
	dash := false
	for i, c := range line[:min(pos.Column-1, len(line))] {
		switch {
		case c == ' ' && indent == i:
			indent++
		case c == '-' && !dash:
			dash = true
		case c != ' ':
			return "" // it shares its line with others
		}
	}
	var comment []string
	for i := pos.Line - 2; i >= 0; i-- {
		text, isComment := strings.CutPrefix(lines[i], strings.Repeat(" ", indent)+"#")
		if !isComment || text != "" && text[0] != ' ' {
			break
		}
		comment = append(comment, strings.TrimSpace(text))
	}
	slices.Reverse(comment)
	return strings.TrimSpace(strings.Join(comment, "\n"))
}
