package parse

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// doc returns the doc of something: its key `doc`, or else the comment directly above its key, without the
// space around it.
func (r *Reader) doc(key *yaml.Node, o object) string {
	e, ok := o.entries["doc"]
	if !ok {
		return r.commentAbove(key)
	}
	v, _ := r.text(e.value, "doc of "+o.what)
	return strings.TrimSpace(v.V)
}

// commentAbove returns the text of the comment that ends in the line before a key, or before an item of a
// list, and has the same indentation. It ends at a # without a space behind it: such comments are for readers
// of the file only.
func (r *Reader) commentAbove(n *yaml.Node) string {
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
