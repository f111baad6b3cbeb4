package importer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	parsenames "github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// Options are what a document does not say.
type Options struct {
	Package string // of the generated code; made of the document's title, or events, if empty
	Event   string // the name of the only event of a JSON Schema that is itself a payload; made of its title or file name if empty
	// Files are those that references may lead to; nil for none but the document itself.
	Files *Files
	// Examples are payloads that a JSON Schema does not have itself. They are evidence, as its own examples are, but do
	// not become examples of the catalogue.
	Examples []Example
	// RenameKeys accepts that keys of the JSON change. Without it nothing is imported then.
	RenameKeys bool
}

// An Example is a payload in a file.
type Example struct {
	File   string // its name in findings
	Source []byte // JSON or YAML
}

// A Result is what came of an import.
type Result struct {
	Catalogue []byte        // formatted, and free of findings; nil if there is none
	Findings  diag.Findings // about the document, in its order, behind one about all keys that change
	// KeysWouldChange says that the catalogue is nil only because Options.RenameKeys is not set.
	KeysWouldChange bool
}

// Check returns an error for names that cannot be.
func (o Options) Check() error {
	if o.Package != "" && parsenames.PackageProblem(o.Package) != "" {
		return fmt.Errorf("--package %s is not a valid name of a package", o.Package)
	}
	if o.Event != "" && glob.ValidName(o.Event) != nil {
		return fmt.Errorf("--event %s is not a valid name of an event, such as order.placed", o.Event)
	}
	return nil
}

// An importer is one import.
type importer struct {
	Options
	file string
	root *node
	// given are Options.Examples.
	given []*node
	// places says what of the document a key or an item of the catalogue was made of.
	places map[*yaml.Node]diag.Place

	documents  documents
	resources  resources
	events     *yaml.Node // name → event
	limits     *yaml.Node // name → limit; nil for none
	headers    *yaml.Node // name → header; nil for none
	policies   *yaml.Node // pattern → policy; nil for none
	patterns   *yaml.Node // name → subscription for patterns; nil for none
	eventNames names
	schedules  *yaml.Node // name → schedule
	types      []*typeDraft
	typeNames  names
	drafts     map[*node]*typeDraft // by definition, or by what was written in place

	counted     map[*node]bool       // the parts of the document
	references  map[*node]int        // how often a definition is referred to
	absorbed    map[*node]bool       // definitions of which something else was made than a type
	flat        map[*node]*node      // what flattened has made
	derived     map[*node]*node      // what derivedFrom has made
	schemaNames map[string]bool      // what types and events say that schemas are called
	commons     map[*node]*use       // what commonType has made
	settlements map[*node]*node      // what settled has made
	payloads    map[*node]bool       // what hasPayload has found
	expanding   map[*node]bool       // definitions that are being put where they are used
	refused     map[*node]bool       // enums and unions that have a finding
	kept        map[*node]bool       // schemas of any JSON of which keepTypes has made types
	keys        []fieldKey           // all fields
	wires       map[string]bool      // the names of events on the wire
	newNames    map[string][]newName // by kind
	schemas     int                  // that were visited
	parts       map[*node]bool       // what references lead to that is only a part of a definition
	builtIn     bool                 // scalars have their built-in type here
	inPlace     int                  // structs in place around the current field
	nested      int                  // lists and maps around it

	observed *evidence // what examples show, in the first run; nil in the second
	evidence *evidence // that in the second run; nil in the first

	findings diag.Findings
}

// A typeDraft is an entry of `types:`.
type typeDraft struct {
	name string
	at   diag.Place
	body *yaml.Node
}

// run reads a document, and makes a catalogue with the function that finds its events. If examples do not keep to their
// schemas it is done once more, with what they show.
func run(file string, source []byte, o Options, events func(*importer)) *Result {
	im := newImporter(file, o)
	if result := im.load(source); result != nil {
		return result
	}
	read := slices.Clone(im.findings)
	im.observed = newEvidence(im.maxSchemas())
	for _, e := range o.Examples {
		im.observed.left += len(e.Source)
	}
	events(im)
	if len(im.observed.all) == 0 && !im.observed.none {
		return im.result(im.catalogue())
	}
	again := newImporter(file, o)
	again.documents, again.resources, again.root, again.counted, again.references = im.documents, im.resources, im.root, im.counted, im.references
	again.given, again.findings, again.evidence = im.given, read, im.observed
	again.reportEvidence()
	events(again)
	return again.result(again.catalogue())
}

func newImporter(file string, o Options) *importer {
	return &importer{
		Options: o, file: file, resources: newResources(), documents: newDocuments(o),
		places: map[*yaml.Node]diag.Place{}, events: mapping(), schedules: mapping(),
		eventNames: names{}, typeNames: names{}, drafts: map[*node]*typeDraft{},
		counted: map[*node]bool{}, references: map[*node]int{}, absorbed: map[*node]bool{}, flat: map[*node]*node{}, derived: map[*node]*node{}, schemaNames: map[string]bool{}, commons: map[*node]*use{}, settlements: map[*node]*node{}, payloads: map[*node]bool{}, newNames: map[string][]newName{}, expanding: map[*node]bool{}, refused: map[*node]bool{}, kept: map[*node]bool{}, parts: map[*node]bool{}, wires: map[string]bool{},
	}
}

// load reads the document and what it refers to. It returns a result if there is nothing to import.
func (im *importer) load(source []byte) *Result {
	doc := &document{path: im.documents.path(im.file)}
	im.documents.byPath[doc.path] = doc
	im.documents.size = int64(len(source))
	if im.read(doc, im.file, source); doc.root == nil {
		im.report(doc.at, rules.ImportSyntax, "%s", doc.why)
		return im.result(nil)
	}
	im.root = doc.root
	if !im.root.is(object) {
		im.report(im.root.place, rules.ImportDocument, "the document is not an object")
		return im.result(nil)
	}
	im.countReferences()
	for _, e := range im.Examples {
		im.documents.order = append(im.documents.order, e.File)
		n, err := readNodes(e.File, e.Source, im.report)
		if wrong, ok := err.(*sourceError); ok {
			im.report(wrong.at, rules.ImportSyntax, "%s", wrong.message)
			return im.result(nil)
		}
		im.given = append(im.given, n)
	}
	return nil
}

// result is the catalogue or, without one, the reason why there is none.
func (im *importer) result(catalogue []byte) *Result {
	refused := slices.ContainsFunc(im.findings, func(f *diag.Finding) bool { return f.Severity == diag.Error })
	if catalogue == nil && !refused {
		im.report(im.root.place, rules.ImportDocument, "nothing in the document can become an event").
			Hint = "an event is an object with known properties: the schema itself, a definition that no other refers to, or the payload of a message"
	}
	im.noteNewNames()
	r := &Result{Catalogue: catalogue, Findings: tidied(im.findings, im.documents.order)}
	if catalogue != nil && im.newNames[aKey] != nil {
		r.Findings = slices.Insert(r.Findings, 0, im.changedKeys())
		if !im.RenameKeys {
			r.Catalogue, r.KeysWouldChange = nil, true
		}
	}
	return r
}

// countReferences finds out what is referred to, and how large what the document uses is, in all of its files. What
// a message or payload refers to becomes an event.
func (im *importer) countReferences() {
	left := []*node{im.root}
	var visit func(n *node)
	visit = func(n *node) {
		if im.counted[n] {
			return // by another alias of YAML
		}
		im.counted[n] = true
		if to := n.get("$ref"); to.is(text) {
			if at := im.lookUp(to).schema; at != nil {
				im.references[at]++
				left = append(left, at)
			}
		}
		eachPart(n, func(keyword string, part *node) {
			if to := part.get("$ref"); keyword == "payload" && to.is(text) {
				if at := im.lookUp(to).schema; at != nil {
					left = append(left, at)
				}
				return
			}
			visit(part)
		})
	}
	for len(left) > 0 {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		visit(n)
	}
}

// maxSchemas bounds how much is made of a document, which can use the same part of itself
// again and again.
func (im *importer) maxSchemas() int { return 1000 + 20*len(im.counted) }

// packageName is the name of the generated package.
func (im *importer) packageName(title string) string {
	for _, name := range []string{im.Package, packageWord(title)} {
		if parsenames.PackageProblem(name) == "" {
			return name
		}
	}
	return "events"
}

func packageWord(title string) string {
	word := strings.ToLower(strings.Join(words(title), ""))
	if len(word) > 30 {
		return ""
	}
	return word
}

// baseName is the name of the file without folder and endings; that of the folder if it is a version, as in
// OrderPlaced/1.0.0.json.
func (im *importer) baseName() string {
	name, _, _ := strings.Cut(filepath.Base(im.file), ".")
	if folder := filepath.Base(filepath.Dir(im.file)); isVersion(name) && snake(folder) != "" {
		return folder
	}
	return name
}

// isVersion tells names such as 4, v2 and 1-0-0.
func isVersion(name string) bool {
	return strings.Trim(strings.TrimPrefix(name, "v"), "0123456789-_") == ""
}
