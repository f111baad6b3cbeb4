package parse

import (
	"errors"
	"fmt"
	"io/fs"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
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
func TextWith(files Files, file string, content []byte, overlays ...Overlay) (*catalog.Catalogue, diag.Findings) {
	r := newReader()
	var c *catalog.Catalogue
	if root := r.document(file, "the catalogue", content); root != nil {
		c = catalogue(r, files, file, root, readOverlays(r, overlays), nil)
	}
	if len(r.findings) > 0 {
		return nil, r.tidied()
	}
	return c, nil
}

// An Overlay is a file with settings for one environment. It replaces settings of a catalogue, each in the place
// where it stands: those of its defaults replace those of the catalogue's defaults, and so on. What is inherited is
// computed afterwards.
type Overlay struct {
	File string
	Text []byte
}

// readOverlays reads the overlays' files. One that is no overlay is left out, after a finding.
func readOverlays(r *Reader, overlays []Overlay) (all []object) {
	for _, overlay := range overlays {
		if root := r.document(overlay.File, "the included file "+diag.Label(overlay.File), overlay.Text); root != nil {
			if o, ok := readOverlay(r, root, overlay.File); ok {
				all = append(all, o)
			}
		}
	}
	return all
}

// catalogue reads a catalogue in the order in which its parts need each other. by is of the one that imported it.
func catalogue(r *Reader, from Files, file string, node *yaml.Node, overlays []object, by *Imports) *catalog.Catalogue {
	named := newNames(r)
	parts := readParts(r, named, from, file, node)
	if parts == nil {
		return nil
	}
	imported := newImports(named, parts, by, func(file string, root *yaml.Node, by *Imports) (*catalog.Catalogue, diag.Findings) {
		other := r.beside()
		return catalogue(other, from, file, root, nil, by), other.findings
	})
	typed := newTypes(named, parts, imported)
	written := newSettings(named, parts)
	declared := newDeclared(parts.incomplete)
	over := newOverlays(written, declared, overlays)
	subscribed := newSubscriptions(named, parts, written, declared)
	published := newEvents(named, parts, typed, written, subscribed, declared)

	root := parts.root()
	c := &catalog.Catalogue{File: file, Files: parts.fileNames(), Version: r.version(root)}
	named.read(root, c)
	written.readWhole(root, c)
	named.readInitialisms(root)
	typed.readGoTypes(root, c)
	imported.read(root, c)
	c.Packages = parts.packages(c.Package, imported)
	parts.readStyles()
	c.Types = typed.section()
	c.Limits = written.limitSection()
	over.limits(c.Limits)
	c.Events = published.section()
	c.Subscriptions = subscribed.patterns()
	c.Groups = subscribed.groupSection(c.Subscriptions)
	c.Schedules = newSchedules(named, parts, declared).section()
	c.Types = append(c.Types, typed.inlines...)
	published.checkNames()
	c.Imported = foreign(c)
	parts.setHomes(c)
	checkPackages(r, c)
	catalog.Mark(c.Types)
	headers := newHeaders(named, parts, typed)
	c.Headers = headers.section()
	over.settings(c.Subscriptions)
	c.Defaults = over.defaults(written.defaults(root))
	policies := newPolicies(written, headers, declared)
	c.Policies = policies.read(over)
	for _, e := range c.Events {
		e.CloudEvents, e.Headers = c.CloudEvents, c.Headers
	}
	policies.inherit(c.Defaults)
	headers.checkSchedules(c.Schedules)
	policies.limitKeys()
	c.Namespaces = named.namespaces(c.Events)
	c.ErrorClasses = written.errorClasses()
	for _, p := range append([]*catalog.Package{nil}, c.Packages...) {
		named.checkCollisions(c.In(p, ""))
	}
	if len(r.findings) == 0 {
		published.checkSamples()
	}
	return c
}
