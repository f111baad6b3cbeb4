package edit

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A former is something that keeps its old name as an alias when it is renamed.
type former struct {
	home  *document
	path  []string // to its body, with the old name
	about *context
}

// keepName adds a name to the aliases of what had it. If the new name is an alias already, because it is a
// former name, keepName replaces that alias with the old name.
func (e *editor) keepName(f former, from, to string) {
	body := f.home.at(f.path...)
	aliases := below(body, "aliases")
	switch {
	case aliases == nil:
		e.insert(f, "aliases", "["+quoted(from)+"]")
	default:
		e.lengthen(f.home, aliases, from, to)
	}
}

// insert adds a key to the body of something.
func (e *editor) insert(f former, key, value string) {
	body := f.home.at(f.path...)
	if !isBlock(body) {
		e.openBrace(f.home, body, key+": "+value)
		return
	}
	at := f.home.place(f.path, key, f.about)
	f.home.insertBefore(at, strings.Repeat(" ", body.Content[0].Column-1)+key+": "+value)
}

// openBrace inserts an entry before the others in { }.
func (e *editor) openBrace(d *document, body *yaml.Node, entry string) {
	line := []rune(d.lines[body.Line-1])
	if body.Column > len(line) || line[body.Column-1] != '{' {
		e.fail(body, "{")
		return
	}
	rest := string(line[body.Column:])
	space := len(rest) - len(strings.TrimLeft(rest, " "))
	text := "{ " + entry + ", "
	if len(body.Content) == 0 {
		text = "{ " + entry + " "
	}
	e.places[d] = append(e.places[d], replacement{body.Line, body.Column, 1 + space, text})
}

// lengthen adds a name to a list of aliases, or replaces another one with it.
func (e *editor) lengthen(d *document, aliases *yaml.Node, name, instead string) {
	for _, item := range aliases.Content {
		if item.Value == instead {
			e.scalar(item, instead, name)
			return
		}
	}
	if len(aliases.Content) == 0 {
		line := []rune(d.lines[aliases.Line-1])[aliases.Column-1:]
		if !strings.HasPrefix(string(line), "[]") {
			e.fail(aliases, "aliases")
			return
		}
		e.places[d] = append(e.places[d], replacement{aliases.Line, aliases.Column, 2, "[" + quoted(name) + "]"})
		return
	}
	last := aliases.Content[len(aliases.Content)-1]
	line := d.lines[last.Line-1]
	if aliases.Style&yaml.FlowStyle == 0 {
		runes := []rune(line)
		d.insertBefore(last.Line, string(runes[:last.Column-1])+quoted(name))
		return
	}
	width := utf8.RuneCountInString(last.Value)
	if last.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		width += 2
	}
	e.places[d] = append(e.places[d], replacement{last.Line, last.Column + width, 0, ", " + quoted(name)})
}

// place returns the index of the line before which to insert a key in the block at a path.
func (d *document) place(path []string, key string, about *context) int {
	f := &formatter{document: d}
	n, from, end := d.root, 0, len(d.lines)
	for _, name := range path {
		for _, c := range f.chunks(n, from, end) {
			if c.key.Value == name {
				n, from, end = c.value, c.line+1, f.split(c, d.contentEnd(c), c.key.Column-1)
				break
			}
		}
	}
	chunks := f.chunks(n, from, end)
	for _, c := range chunks {
		if about.rank(c.key.Value) > about.rank(key) {
			return c.start
		}
	}
	last := chunks[len(chunks)-1]
	return f.split(last, d.contentEnd(last), last.key.Column-1)
}

// insertBefore remembers to insert a line before the one with that index, or at the end.
func (d *document) insertBefore(index int, line string) {
	d.inserts = append(d.inserts, insert{index, line})
}
