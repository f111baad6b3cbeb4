package importer

import (
	"bytes"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// resources are the schemas that have an identifier: the files, by their path in the folder, and what has an
// identifier of its own, as bundling several documents into one leaves them.
type resources struct {
	schemas map[string]*node    // by base, or by base#anchor
	bases   map[*node]*location // what is around a $ref, by its text
	found   map[foundAt]found
}

// A location is what a reference is relative to.
type location struct {
	id   string // the $id around it, or else the file
	file string // its path in the folder
}

type foundAt struct {
	location
	to string
}

// found is what is at a reference, or why there is nothing.
type found struct {
	schema    *node
	name      string
	part      bool // of a definition that does not give it its name
	why, hint string
}

func newResources() resources {
	return resources{map[string]*node{}, map[*node]*location{}, map[foundAt]found{}}
}

// identify finds the identifiers in a document.
func (r resources) identify(doc *document) {
	base := &location{folderScheme + doc.path, doc.path}
	r.schemas[base.id] = doc.root
	// Until draft 4 an identifier is called id, which in other documents is something else.
	key := "$id"
	if draft := doc.root.str("$schema"); strings.Contains(draft, "draft-04") || strings.Contains(draft, "draft-03") {
		key = "id"
	}
	seen := map[*node]bool{}
	var visit func(n *node, base *location)
	visit = func(n *node, base *location) {
		if seen[n] {
			return // by another alias of YAML
		}
		seen[n] = true
		if id := n.str(key); id != "" {
			whole, anchor, _ := strings.Cut(against(base.id, id), "#")
			if whole != base.id {
				base = &location{whole, base.file}
			}
			if anchor == "" {
				r.add(whole, n)
			} else {
				r.add(whole+"#"+anchor, n) // up to draft 7
			}
		}
		for _, anchor := range []string{"$anchor", "$dynamicAnchor"} {
			if name := n.str(anchor); name != "" {
				r.add(base.id+"#"+name, n)
			}
		}
		if to := n.get("$ref"); to.is(text) {
			r.bases[to] = base
		}
		eachPart(n, func(_ string, part *node) { visit(part, base) })
	}
	doc.base = base.id
	if id := doc.root.str(key); id != "" {
		doc.base, _, _ = strings.Cut(against(base.id, id), "#")
	}
	visit(doc.root, base)
}

// byName are the keywords whose value has a schema, or something else that can have references, for each of some
// names. The names are no keywords.
var byName = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "schemas": true, "messages": true,
	"channels": true, "operations": true, "webhooks": true, "x-webhooks": true, "callbacks": true, "paths": true,
}

// eachPart visits the parts of a document that are right below one, but nothing that is only data: it can have
// any keys. The keyword of a part is empty in a list, and below names.
func eachPart(n *node, visit func(keyword string, part *node)) {
	for _, item := range n.items {
		visit("", item)
	}
	for _, m := range n.members {
		switch m.name {
		case "enum", "const", "default", "example":
		case "examples": // of OpenAPI have names, and can be somewhere else
			for _, named := range m.value.members {
				if named.value.get("$ref").is(text) {
					visit("", named.value)
				}
			}
		default:
			if byName[m.name] && m.value.is(object) {
				for _, named := range m.value.members {
					visit("", named.value)
				}
				continue
			}
			visit(m.name, m.value)
		}
	}
}

// add keeps the first schema of an identifier.
func (r resources) add(id string, n *node) {
	if r.schemas[id] == nil {
		r.schemas[id] = n
	}
}

// against is a reference as seen from a base.
func against(base, to string) string {
	t, err := url.Parse(to)
	if err != nil {
		return to
	}
	if file, ok := strings.CutPrefix(base, folderScheme); ok {
		if t.Scheme != "" || t.Host != "" {
			return to
		}
		if t.Path != "" && !strings.HasPrefix(t.Path, "/") {
			file = path.Join(path.Dir(file), t.Path)
		} else if t.Path != "" {
			file = t.Path
		}
		if t.Fragment != "" {
			return folderScheme + file + "#" + t.Fragment
		}
		return folderScheme + file
	}
	b, err := url.Parse(base)
	if err != nil {
		return to
	}
	return b.ResolveReference(t).String()
}

// lookUp returns what is at a reference.
func (im *importer) lookUp(to *node) found {
	base := im.resources.bases[to]
	if base == nil {
		base = &location{folderScheme + im.documents.path(im.file), im.documents.path(im.file)}
	}
	key := foundAt{*base, to.text}
	f, known := im.resources.found[key]
	if !known {
		f = im.find(*base, to.text)
		im.resources.found[key] = f
	}
	return f
}

func (im *importer) find(base location, to string) found {
	reference, fragment, _ := strings.Cut(to, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	at, whole, name, part := (*node)(nil), base.id, "", false
	if reference != "" {
		whole, _, _ = strings.Cut(against(base.id, reference), "#")
		name = fileName(whole)
	}
	if at = im.resources.schemas[whole]; at == nil {
		var f found
		if at, whole, f = im.fileOf(base, reference, whole); at == nil {
			return f
		}
	}
	switch {
	case fragment == "" && reference == "":
		name = at.str("title")
	case fragment == "":
	case !strings.HasPrefix(fragment, "/"):
		at, name = im.resources.schemas[whole+"#"+fragment], fragment
	default:
		at, name = pointedTo(at, fragment[1:])
		part = leadsToPart(fragment)
	}
	if at == nil {
		return found{why: "which does not exist"}
	}
	return found{schema: at, name: name, part: part}
}

// leadsToPart tells whether a JSON pointer leads to a part of a schema or of something else, such as
// #/components/schemas/Order/properties/id or …/parameters/id/schema, and not to a definition.
func leadsToPart(pointer string) bool {
	words := strings.Split(pointer, "/")
	last, around := words[len(words)-1], words[len(words)-2]
	switch around {
	case "$defs", "definitions", "schemas":
		return false
	case "properties", "patternProperties", "allOf", "anyOf", "oneOf", "prefixItems", "items":
		return true
	}
	return slices.Contains([]string{"items", "additionalProperties", "contains", "then", "else", "schema", "payload", "headers"}, last)
}

// fileOf returns the document that a reference leads to, with the base under which its anchors are. target is the
// reference as seen from the identifier around it.
func (im *importer) fileOf(base location, reference, target string) (at *node, whole string, no found) {
	if im.documents.files == nil {
		return nil, "", found{why: "which is not in this file", hint: "bundle the document and what it refers to into one document first, and import that"}
	}
	var paths []string
	relative := true
	if t, err := url.Parse(reference); err == nil && (t.Scheme != "" || t.Host != "") && !strings.HasPrefix(reference, folderScheme) {
		relative = false
		if found := im.identified(target); found != "" {
			paths = append(paths, found)
		}
	} else {
		own := strings.TrimPrefix(against(folderScheme+base.file, reference), folderScheme)
		paths = append(paths, own)
		if !strings.HasPrefix(reference, "/") && !strings.HasPrefix(reference, ".") {
			for above := path.Dir(base.file); above != "."; { // references relative to a folder above are common
				above = path.Dir(above)
				paths = append(paths, path.Join(above, reference))
			}
		}
	}
	if beside := besides(base, target); fs.ValidPath(beside) {
		paths = append(paths, beside)
		if path.Ext(beside) == "" {
			paths = append(paths, beside+".json", beside+".schema.json", beside+".yaml")
		}
	}
	for i, p := range paths {
		doc := im.open(p)
		if doc.root != nil {
			return doc.root, doc.base, found{}
		}
		if i > 0 || !relative {
			continue
		}
		no = found{why: "which cannot be read: " + doc.why}
		if doc.at.Pos.IsKnown() {
			no.why = "which cannot be read: " + doc.at.Pos.String() + ": " + doc.why
		}
		if doc.outside {
			no.hint = "name a folder that both files are in with --root"
		}
	}
	if no.why == "" {
		no = found{why: "which no file in the folder " + im.folder() + " has as its $id; nothing is fetched from a network",
			hint: "save it in the folder, with that $id"}
	}
	return nil, "", no
}

// fileName is what a file is called, without folders and endings.
func fileName(address string) string {
	name := path.Base(strings.TrimPrefix(address, folderScheme))
	for _, ending := range []string{".json", ".yaml", ".yml", ".jsonschema", ".schema"} {
		if short := strings.TrimSuffix(name, ending); short != "" {
			name = short
		}
	}
	return name
}

var identifier = regexp.MustCompile(`^["']?\s*:\s*["']?([^\s"',}]+)`)

// identifierOf finds the identifier of a file: the first in its text that is a URL.
func identifierOf(source []byte) string {
	for _, key := range []string{"$id", `"id"`, "'id'", "\nid"} {
		rest := source
		for range 5 {
			at := bytes.Index(rest, []byte(key))
			if at < 0 {
				break
			}
			rest = rest[at+len(key):]
			if found := identifier.FindSubmatch(rest[:min(len(rest), 500)]); found != nil && bytes.Contains(found[1], []byte(":")) {
				return strings.TrimSuffix(string(found[1]), "#")
			}
		}
	}
	return ""
}

// pointedTo follows a JSON pointer.
func pointedTo(n *node, pointer string) (*node, string) {
	name := ""
	for part := range strings.SplitSeq(pointer, "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if n.is(list) {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil, ""
			}
			n = n.items[i]
			continue
		}
		if n = n.get(name); n == nil {
			return nil, ""
		}
	}
	return n, name
}
