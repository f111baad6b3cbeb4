package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"gopkg.in/yaml.v3"
)

// Load reads the catalogue at path. The error is about the file itself, such
// as one that does not exist; everything wrong inside it is in the Findings,
// and then the Catalogue is nil.
func Load(path string) (*Catalogue, Findings, error) {
	source, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no catalogue at %s: name another file, or write a first one with \"busgen init\": %w", path, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the catalogue: %w", err)
	}
	c, findings := Parse(path, source)
	return c, findings, nil
}

// Parse reads a catalogue from source; file is only its name in positions.
// The Catalogue is nil exactly if there are findings. It is safe for
// concurrent use.
func Parse(file string, source []byte) (*Catalogue, Findings) {
	r := newReader(file, source)
	var c *Catalogue
	if root := r.document(source); root != nil {
		c = r.catalogue(root)
	}
	if len(r.findings) > 0 {
		return nil, r.findings.tidy()
	}
	return c, nil
}

// A reader decodes one catalogue and collects what is wrong with it. Its
// methods report and go on, so that one run finds everything; what could not
// be read is left out of their results.
type reader struct {
	file  string
	lines []string         // of the source, without line ends
	runes [][]rune         // the same lines, for counting columns
	types map[string]*Type // by name, also those whose body is broken
	// typesOK is set if there was nothing wrong with the types.
	typesOK bool
	// eventsIncomplete is set if the name of an event was refused: it may be
	// the one that a policy is for.
	eventsIncomplete bool
	inlines          []*Type               // the structs in place so far
	initialisms      map[string]bool       // those of the catalogue
	later            []func()              // what has to wait until all types are known
	subscribed       map[string]subscribed // the subscriptions so far, by name
	classes          []*ErrorClass         // the error classes so far
	findings         Findings
}

func (r *reader) catalogue(root *yaml.Node) *Catalogue {
	o, ok := r.object(root, "the catalogue", "version", "package", "import_path", "initialisms", "lint", "defaults", "policies", "types", "events")
	if !ok {
		return nil
	}
	c := &Catalogue{File: r.file}
	c.Version = r.version(o)
	c.Package = r.packageName(o)
	c.ImportPath = r.ownImportPath(o)
	c.Lint = r.lint(o)
	r.readInitialisms(o)
	before := len(r.findings)
	c.Types = r.typeSection(o)
	r.typesOK = len(r.findings) == before
	c.Events = r.eventSection(o)
	c.Types = append(c.Types, r.inlines...)
	r.checkEventAliases(c.Events)
	markTypes(c.Types)
	r.inherit(c.Events, r.defaults(o), r.policies(o, c.Events))
	c.Namespaces = r.namespaces(c.Events)
	c.ErrorClasses = r.errorClasses()
	r.checkCollisions(c)
	if len(r.findings) == 0 {
		r.checkSamples(c.Events)
	}
	return c
}

// languageVersion is the version of the catalogue language that this package reads.
const languageVersion = 1

func (r *reader) version(o object) Value[int] {
	e, ok := r.required(o, "version", "this busgen reads version 1: add \"version: 1\"")
	if !ok {
		return Value[int]{}
	}
	v, ok := r.wholeNumber(e, o.what)
	if ok && v.V != languageVersion {
		r.report(r.place(e.value), RuleVersion, "version %d of the catalogue language is not known", v.V).
			Hint = "this busgen reads version 1; a newer one may read yours"
	}
	return v
}
