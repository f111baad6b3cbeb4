package parse

import (
	"errors"
	"fmt"
	"io/fs"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/input"
)

// Load reads the catalogue at path, with the files that it includes and the overlays at
// other paths. The error is about one of these files itself, such as one that does not exist. Everything wrong inside it is in
// the findings, and then the catalogue is nil.
func Load(path string, overlays ...string) (*catalog.Catalogue, diag.Findings, error) {
	text, err := Disk{}.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no catalogue at %s: name another file, or write a first one with \"busgen init\": %w", path, err)
	}
	if _, large := errors.AsType[*input.TooLargeError](err); large {
		return nil, nil, fmt.Errorf("cannot read the catalogue: %w: divide it into several files with include", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the catalogue: %w", err)
	}
	var over []Overlay
	for _, file := range overlays {
		text, err := Disk{}.ReadFile(file)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the overlay: %v", err) // which is not about the catalogue
		}
		over = append(over, Overlay{file, text})
	}
	c, findings := TextWith(Disk{}, path, text, over...)
	return c, findings, nil
}

// Text reads a catalogue from text; file is only its name in positions. It cannot include
// files. The catalogue is nil exactly if there are findings. It is safe for concurrent use.
func Text(file string, text []byte) (*catalog.Catalogue, diag.Findings) {
	return TextWith(Memory{}, file, text)
}

// TextWith is [Text] for a catalogue that includes or imports some of files. Their names begin in the
// folder of file. Of two overlays that set the same, the later one counts.
func TextWith(files Files, file string, text []byte, overlays ...Overlay) (*catalog.Catalogue, diag.Findings) {
	r := newReader(files, &sources{}, file)
	var c *catalog.Catalogue
	if root := r.document(file, "the catalogue", text); root != nil {
		c = r.catalogue(root, r.readOverlays(overlays))
	}
	if len(r.findings) > 0 {
		return nil, r.tidied()
	}
	return c, nil
}

func newReader(files Files, known *sources, root string) *reader {
	r := &reader{files: files, sources: known, root: root, types: map[string]*catalog.Type{}, limits: map[string]*catalog.Limit{}, headers: map[string]declaredHeader{}, subscribed: map[string]subscribed{},
		styles:   map[string]catalog.JSONNames{},
		declared: declared{brokenPayloads: map[*catalog.Event]bool{}, brokenKeys: map[*catalog.Event]bool{}}, members: map[*catalog.Group]int{}}
	r.mixing = &mixing{reader: r, of: map[*catalog.Type]*mixer{}}
	return r
}

// A reader decodes one catalogue and collects what is wrong with it. Its
// methods report and go on, so that one run finds everything; what could not
// be read is left out of their results.
type reader struct {
	*sources // what was read so far

	files    Files
	root     string // the name of the file that was asked for
	parts    []*part
	included map[string]*part            // the parts of the catalogue so far, by identity
	imported map[string]*imported        // the imported catalogues so far, by what they are called
	homes    map[string]*catalog.Package // the packages of files; nil is that of the root
	importer *reader                     // of the catalogue that imports this one; nil if none does
	// incomplete is set if a file could not be read: what it declares is missed elsewhere.
	incomplete bool

	types map[string]*catalog.Type // by name, and those with a broken body, too
	// typesOK is set if there was nothing wrong with the types.
	typesOK     bool
	declared    declared
	inlines     []*catalog.Type // the structs in place so far
	initialisms []string        // those of the catalogue
	goTypes     map[catalog.Kind]*catalog.GoType
	styles      map[string]catalog.JSONNames // the JSON names of files
	limits      map[string]*catalog.Limit    // by name, and those with a broken body, too
	headers     map[string]declaredHeader    // by name, without broken ones
	misspelt    int                          // unknown types and unused policies so far
	later       []func()                     // what has to wait until all types are known
	mixing      *mixing
	subscribed  map[string]subscribed  // the subscriptions so far, by name
	groups      []*catalog.Group       // of subscriptions, so far
	members     map[*catalog.Group]int // how many subscriptions name them
	classes     []*catalog.ErrorClass  // the error classes so far
	findings    diag.Findings
}

// readOverlays reads the overlays' files. One that is no overlay is left out, after a finding.
func (r *reader) readOverlays(overlays []Overlay) (all []object) {
	for _, overlay := range overlays {
		if root := r.document(overlay.File, "the included file "+label(overlay.File), overlay.Text); root != nil {
			if o, ok := r.readOverlay(root, overlay.File); ok {
				all = append(all, o)
			}
		}
	}
	return all
}

func (r *reader) catalogue(node *yaml.Node, overlays []object) *catalog.Catalogue {
	root, ok := r.readParts(node)
	if !ok {
		return nil
	}
	c := &catalog.Catalogue{File: r.root}
	for _, p := range r.parts {
		c.Files = append(c.Files, p.file)
	}
	c.Version = r.version(root)
	c.Package = r.packageName(root)
	c.ImportPath = r.ownImportPath(root)
	c.TestKit = r.flag(root, "test_kit").V
	c.CloudEvents = r.cloudEvents(root)
	c.Lint = r.lint(root)
	c.Accepted = r.accepted(root)
	r.readInitialisms(root)
	r.readGoTypes(root, c)
	c.Imports = r.imports(root)
	r.checkImportPaths(c)
	c.Packages = r.packages(c.Package)
	r.readStyles()
	before := len(r.findings)
	c.Types = r.typeSection()
	r.typesOK = len(r.findings) == before && !r.incomplete
	c.Limits = r.limitSection()
	r.declared.incomplete = r.incomplete
	over := &overlaying{reader: r, overlays: overlays}
	over.overlayLimits(c.Limits)
	c.Events = r.eventSection()
	c.Subscriptions = r.patternSubscriptions()
	c.Groups = r.groupSection(c.Subscriptions)
	c.Schedules = r.scheduleSection()
	c.Types = append(c.Types, r.inlines...)
	for _, e := range c.Events {
		e.CloudEvents = c.CloudEvents
	}
	r.checkEventNames(c.Events)
	c.Imported = foreign(c)
	r.setHomes(c)
	r.checkPackages(c)
	catalog.Mark(c.Types)
	c.Headers = r.headerSection()
	over.overlaySettings(c.Subscriptions)
	c.Defaults = over.overlayDefaults(r.defaults(root))
	policies := newPolicies(r)
	policies.read()
	over.overlayPolicies(policies)
	c.Policies = policies.list()
	for _, e := range c.Events {
		e.Headers = c.Headers
	}
	policies.inherit(c.Defaults)
	r.checkScheduledHeaders(c.Schedules)
	policies.limitKeys()
	c.Namespaces = r.namespaces(c.Events)
	c.ErrorClasses = r.errorClasses()
	for _, p := range append([]*catalog.Package{nil}, c.Packages...) {
		r.checkCollisions(c.In(p, ""))
	}
	if len(r.findings) == 0 {
		r.checkSamples(c.Events)
	}
	return c
}

// languageVersion is the version of the catalogue language that this package reads.
const languageVersion = 1

func (r *reader) version(o object) catalog.Value[int] {
	e, ok := r.required(o, "version", "this busgen reads version 1: add \"version: 1\"")
	if !ok {
		return catalog.Value[int]{}
	}
	v, ok := r.wholeNumber(e, o.what)
	if ok && v.V != languageVersion {
		r.report(r.place(e.value), rules.Version, "version %d of the catalogue language is not known", v.V).
			Hint = "this busgen reads version 1; a newer one may read yours"
	}
	return v
}

// maxMisspelt limits for how many unknown names the reader looks for a similar one. Looking takes longer the more names
// there are.
const maxMisspelt = 200

// mayGuess tells whether to look for a name that is similar to an unknown one.
func (r *reader) mayGuess() bool {
	r.misspelt++
	return r.misspelt <= maxMisspelt
}

// report adds a finding and returns it, for a hint or related places.
func (r *reader) report(at diag.Place, rule *diag.Rule, format string, args ...any) *diag.Finding {
	f := rule.At(at, format, args...)
	r.findings = append(r.findings, f)
	return f
}

// tidied returns the findings in the order of the files.
func (r *reader) tidied() diag.Findings {
	var files []string
	for _, src := range r.all {
		files = append(files, src.file)
	}
	for _, f := range r.findings {
		f.Hint = diag.Visible(f.Hint)
	}
	return r.findings.Tidy(files)
}
