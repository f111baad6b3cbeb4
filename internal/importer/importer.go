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
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/evidence"
	"github.com/busgen/busgen/internal/importer/files"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/payloads"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
	"github.com/busgen/busgen/internal/importer/types"
)

// Options are what a document does not say.
type Options struct {
	Package string // of the generated code; made of the document's title, or events, if empty
	// Event is the name of the only event of a JSON Schema that is itself a payload; made of its title or file name if
	// empty.
	Event string
	// Files are those that references may lead to; nil for none but the document itself.
	Files *files.Folder
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
	*findings.List
	files      *files.Set
	schemas    *schema.Reader
	payloads   *payloads.Finder
	observer   *evidence.Observer
	catalogue  *draft.Catalogue
	types      *types.Maker
	name       string // of the file, for what has no other
	root       *tree.Node
	given      []*tree.Node       // Options.Examples
	references map[*tree.Node]int // how often a definition is referred to
	most       int                // schemas that something is made of
	eventNames names.Taken
	wires      map[string]bool // the names of events on the wire
}

// Import makes a catalogue of an AsyncAPI document, of the webhooks of an OpenAPI document or, if it says that it is neither,
// of a JSON Schema, each in JSON or YAML. file is only its name in findings.
func Import(file string, source []byte, o Options) *Result {
	return run(file, source, o, func(im *importer) {
		switch {
		case im.root.Get("asyncapi") != nil:
			im.asyncAPI()
		case im.root.Get("openapi").Is(tree.Text), im.root.Get("swagger") != nil:
			im.openAPI()
		default:
			im.jsonSchema()
		}
	})
}

// run reads a document, and makes a catalogue with the function that finds its events. If examples do not keep to their
// schemas it is done once more, with what they show.
func run(file string, source []byte, o Options, events func(*importer)) *Result {
	im := &importer{Options: o, name: baseName(file), List: &findings.List{}}
	im.files = files.New(file, o.Files, im.List)
	if !im.load(file, source) {
		return im.result(nil)
	}
	read := len(im.All)
	seen := evidence.New(im.most)
	for _, e := range o.Examples {
		seen.Left += len(e.Source)
	}
	im.begin(seen, false)
	events(im)
	if seen.Any() {
		im.Rewind(read)
		im.begin(seen, true)
		im.observer.ReportEvidence()
		events(im)
	}
	return im.result(im.catalogue.Bytes())
}

// begin makes what finds events and types. The evidence is known if it was found before.
func (im *importer) begin(seen *evidence.Evidence, known bool) {
	title := im.root.Str("title")
	if title == "" {
		title = im.root.Get("info").Str("title")
	}
	im.schemas = schema.New(im.files, im.most)
	im.payloads = payloads.New(im.schemas)
	im.observer = evidence.NewObserver(im.schemas, seen, known)
	im.catalogue = draft.New(im.List, packageName(im.Package, title), im.root.Place, im.most)
	im.types = types.New(im.observer, im.catalogue, im.name)
	im.eventNames, im.wires = names.Taken{}, map[string]bool{}
}

// load reads the document and the examples. It reports why there is nothing to import.
func (im *importer) load(file string, source []byte) bool {
	doc := im.files.Load(file, source)
	if im.root = doc.Root; im.root == nil {
		im.Report(doc.At, rules.ImportSyntax, "%s", doc.Why)
		return false
	}
	if !im.root.Is(tree.Object) {
		im.Report(im.root.Place, rules.ImportDocument, "the document is not an object")
		return false
	}
	var parts int
	im.references, parts = im.files.CountReferences(im.root)
	im.most = 1000 + 20*parts
	for _, e := range im.Examples {
		im.List.Files = append(im.List.Files, e.File)
		n, err := tree.Read(e.File, e.Source, im.Report)
		if wrong, ok := err.(*tree.Error); ok {
			im.Report(wrong.At, rules.ImportSyntax, "%s", wrong.Message)
			return false
		}
		im.given = append(im.given, n)
	}
	return true
}

// result is the catalogue or, without one, the reason why there is none.
func (im *importer) result(catalogue []byte) *Result {
	if catalogue == nil && !im.Failed() {
		im.Report(im.root.Place, rules.ImportDocument, "nothing in the document can become an event").
			Hint = "an event is an object with known properties: the schema itself, a definition that no other refers to, " +
			"or the payload of a message"
	}
	im.NoteNewNames()
	r := &Result{Catalogue: catalogue, Findings: im.Tidied()}
	if keys := im.ChangedKeys(im.RenameKeys); catalogue != nil && keys != nil {
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
	word := strings.ToLower(strings.Join(names.Words(title), ""))
	if len(word) > 30 {
		return ""
	}
	return word
}

// baseName is the name of the file without folder and endings; that of the folder if it is a version, as in
// OrderPlaced/1.0.0.json.
func baseName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	if folder := filepath.Base(filepath.Dir(file)); isVersion(name) && names.Snake(folder) != "" {
		return folder
	}
	return name
}

// isVersion tells names such as 4, v2 and 1-0-0.
func isVersion(name string) bool {
	return strings.Trim(strings.TrimPrefix(name, "v"), "0123456789-_") == ""
}
