package edit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
)

// A File is a file of a catalogue.
type File struct {
	Name string
	Text []byte
}

// A Catalogue has the files to change, the root first, in the order of catalog.Catalogue's Files. Other
// files that it refers to are in Below, unless that is nil.
type Catalogue struct {
	Files []File
	Below parse.Files
}

// parse reads the catalogue with new texts for some of its files.
func (c *Catalogue) parse(changed []File) (*catalog.Catalogue, diag.Findings) {
	texts := parse.Memory{Text: map[string][]byte{}, Below: c.Below}
	for _, file := range append(c.Files[:len(c.Files):len(c.Files)], changed...) {
		texts.Text[file.Name] = file.Text
	}
	root := c.Files[0].Name
	return parse.TextWith(texts, root, texts.Text[root])
}

// A Change is the result of renaming or adding something.
type Change struct {
	Files  []File // the files that changed
	Places int    // how many places changed
	Remark string // what it means for names on the wire, in whole lines; empty for nothing
}

// checked returns a change, or an error if the catalogue would have findings after it.
func (c *Catalogue) checked(changed []File, places int) (*Change, error) {
	if _, findings := c.parse(changed); findings != nil {
		return nil, &RefusedError{Finding: findings[0]}
	}
	return &Change{Files: changed, Places: places}, nil
}

// RefusedError reports that a catalogue would have findings after a change.
type RefusedError struct{ Finding *diag.Finding }

// Error returns the first finding, without its place, which is in a text that was not written.
func (e *RefusedError) Error() string {
	text := "the catalogue would be wrong: " + e.Finding.Message
	if e.Finding.Hint != "" {
		text += "; " + e.Finding.Hint
	}
	return text
}

// An editor collects replacements in the files of a catalogue.
type editor struct {
	catalogue *Catalogue
	documents []*document
	home      map[*yaml.Node]*document // the file of each scalar
	places    map[*document][]replacement
	err       error // of the first scalar that cannot be replaced
	remark    string
}

func newEditor(c *Catalogue) (*editor, error) {
	e := &editor{catalogue: c, home: map[*yaml.Node]*document{}, places: map[*document][]replacement{}}
	for _, file := range c.Files {
		d, err := read(file.Text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		d.name = file.Name
		e.documents = append(e.documents, d)
		e.settle(d.root, d)
	}
	return e, nil
}

func (e *editor) settle(n *yaml.Node, d *document) {
	e.home[n] = d
	for _, inside := range n.Content {
		e.settle(inside, d)
	}
}

// at returns the node at a path of keys, from the first file that has it, or nil if no file does.
func (e *editor) at(path ...string) *yaml.Node {
	for _, d := range e.documents {
		if n := d.at(path...); n != nil {
			return n
		}
	}
	return nil
}

// key returns the key of an entry of a section, which is in one of the files.
func (e *editor) key(section, name string) *yaml.Node {
	for _, d := range e.documents {
		if key, _ := value(d.at(section), name); key != nil {
			return key
		}
	}
	return nil
}

// each visits the entries of a section of all files.
func (e *editor) each(section string, visit func(key, val *yaml.Node)) {
	for _, d := range e.documents {
		eachPair(d.at(section), visit)
	}
}

// names lists the names in a section of all files.
func (e *editor) names(section string) []string {
	var all []string
	e.each(section, func(key, _ *yaml.Node) { all = append(all, key.Value) })
	return all
}

// scalar replaces from with to in the text of a scalar. from is as written in the file.
func (e *editor) scalar(n *yaml.Node, from, to string) {
	d := e.home[n]
	line := []rune(d.lines[n.Line-1])[n.Column-1:]
	at := strings.Index(n.Value, from)
	column := n.Column
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		column++
		line = line[1:]
	}
	before := utf8.RuneCountInString(n.Value[:max(at, 0)])
	length := utf8.RuneCountInString(from)
	if at < 0 || len(line) < before+length || string(line[before:before+length]) != from {
		e.fail(n, from)
		return
	}
	e.places[d] = append(e.places[d], replacement{n.Line, column + before, length, to})
}

// stillFormatted formats a text if the file was formatted before.
func stillFormatted(before File, text []byte) File {
	if was, err := Format(before.Text); err == nil && bytes.Equal(was, before.Text) {
		if now, err := Format(text); err == nil {
			text = now
		}
	}
	return File{before.Name, text}
}

// fail remembers the first error.
func (e *editor) fail(n *yaml.Node, what string) {
	if e.err == nil {
		e.err = fmt.Errorf("line %d of %s: %s is written in a way that cannot be edited: rename it by hand", n.Line, e.home[n].name, what)
	}
}

// change makes the replacements. It returns an error if the result has findings.
func (e *editor) change() (*Change, error) {
	if e.err != nil {
		return nil, e.err
	}
	var changed []File
	count := 0
	for i, d := range e.documents {
		if places := e.places[d]; places != nil || d.inserts != nil {
			places := len(places) + len(d.inserts)
			d.replace(e.places[d])
			d.makeInserts()
			changed = append(changed, stillFormatted(e.catalogue.Files[i], d.text()))
			count += places
		}
	}
	done, err := e.catalogue.checked(changed, count)
	if err == nil {
		done.Remark = e.remark
	}
	return done, err
}

func eachPair(mapping *yaml.Node, visit func(key, val *yaml.Node)) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		visit(mapping.Content[i], mapping.Content[i+1])
	}
}

func names(mapping *yaml.Node) []string {
	var all []string
	eachPair(mapping, func(key, _ *yaml.Node) { all = append(all, key.Value) })
	return all
}
