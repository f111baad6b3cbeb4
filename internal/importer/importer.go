package importer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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
	*findingList
	*fileSet
	*schemaReader
	*payloadFinder
	*observer
	*draft
	*typeMaker
	root       *node
	given      []*node       // Options.Examples
	references map[*node]int // how often a definition is referred to
	most       int           // schemas that something is made of
	eventNames names
	wires      map[string]bool // the names of events on the wire
}

// run reads a document, and makes a catalogue with the function that finds its events. If examples do not keep to their
// schemas it is done once more, with what they show.
func run(file string, source []byte, o Options, events func(*importer)) *Result {
	im := &importer{Options: o, findingList: &findingList{}}
	im.fileSet = newFileSet(file, o.Files, im.findingList)
	if !im.load(file, source) {
		return im.result(nil)
	}
	read := len(im.all)
	seen := newEvidence(im.most)
	for _, e := range o.Examples {
		seen.left += len(e.Source)
	}
	im.begin(baseName(file), seen, false)
	events(im)
	if seen.any() {
		im.rewind(read)
		im.begin(baseName(file), seen, true)
		im.reportEvidence()
		events(im)
	}
	return im.result(im.catalogue())
}

// begin makes what finds events and types. The evidence is known if it was found before.
func (im *importer) begin(fallback string, seen *evidence, known bool) {
	title := im.root.str("title")
	if title == "" {
		title = im.root.get("info").str("title")
	}
	im.schemaReader = newSchemaReader(im.fileSet, im.most)
	im.payloadFinder = newPayloadFinder(im.schemaReader)
	im.observer = newObserver(im.schemaReader, seen, known)
	im.draft = newDraft(im.findingList, packageName(im.Package, title), im.root.place, im.most)
	im.typeMaker = newTypeMaker(im.observer, im.draft, fallback)
	im.eventNames, im.wires = names{}, map[string]bool{}
}

// load reads the document and the examples. It reports why there is nothing to import.
func (im *importer) load(file string, source []byte) bool {
	doc := im.fileSet.load(file, source)
	if im.root = doc.root; im.root == nil {
		im.report(doc.at, rules.ImportSyntax, "%s", doc.why)
		return false
	}
	if !im.root.is(object) {
		im.report(im.root.place, rules.ImportDocument, "the document is not an object")
		return false
	}
	var parts int
	im.references, parts = im.countReferences(im.root)
	im.most = 1000 + 20*parts
	for _, e := range im.Examples {
		im.findingList.files = append(im.findingList.files, e.File)
		n, err := readNodes(e.File, e.Source, im.report)
		if wrong, ok := err.(*sourceError); ok {
			im.report(wrong.at, rules.ImportSyntax, "%s", wrong.message)
			return false
		}
		im.given = append(im.given, n)
	}
	return true
}

// result is the catalogue or, without one, the reason why there is none.
func (im *importer) result(catalogue []byte) *Result {
	if catalogue == nil && !im.failed() {
		im.report(im.root.place, rules.ImportDocument, "nothing in the document can become an event").
			Hint = "an event is an object with known properties: the schema itself, a definition that no other refers to, " +
			"or the payload of a message"
	}
	im.noteNewNames()
	r := &Result{Catalogue: catalogue, Findings: im.tidied()}
	if keys := im.changedKeys(im.RenameKeys); catalogue != nil && keys != nil {
		r.Findings = slices.Insert(r.Findings, 0, keys)
		if !im.RenameKeys {
			r.Catalogue, r.KeysWouldChange = nil, true
		}
	}
	return r
}

// packageName is the name of the generated package: the first of these that can be one, or events.
func packageName(wanted, title string) string {
	for _, name := range []string{wanted, packageWord(title)} {
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
func baseName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	if folder := filepath.Base(filepath.Dir(file)); isVersion(name) && snake(folder) != "" {
		return folder
	}
	return name
}

// isVersion tells names such as 4, v2 and 1-0-0.
func isVersion(name string) bool {
	return strings.Trim(strings.TrimPrefix(name, "v"), "0123456789-_") == ""
}
