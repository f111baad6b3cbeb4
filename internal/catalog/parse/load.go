package parse

import (
	"errors"
	"fmt"
	"io/fs"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/events"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/settings"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/catalog/parse/types"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/input"
)

// Load reads the catalogue at path, with the files that it includes. The error is about the file itself, such as one that
// does not exist. Everything wrong inside it is in the findings, and then the catalogue is nil.
func Load(path string) (*catalog.Catalogue, diag.Findings, error) {
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
	c, findings := TextWith(Disk{}, path, text)
	return c, findings, nil
}

// Text reads a catalogue from text; file is only its name in positions. It cannot include
// files. The catalogue is nil exactly if there are findings. It is safe for concurrent use.
func Text(file string, text []byte) (*catalog.Catalogue, diag.Findings) {
	return TextWith(Memory{}, file, text)
}

// TextWith is [Text] for a catalogue that includes or imports some of files. Their names begin in the
// folder of file.
func TextWith(files files.Files, file string, content []byte) (*catalog.Catalogue, diag.Findings) {
	r := text.New()
	var c *catalog.Catalogue
	if root := r.Document(file, "the catalogue", content); root != nil {
		c = catalogue(r, files, file, root, nil)
	}
	if len(r.Findings) > 0 {
		return nil, r.Tidied()
	}
	return c, nil
}

// catalogue reads a catalogue in the order in which its parts need each other. by is of the one that imported it.
func catalogue(r *text.Reader, from files.Files, file string, node *yaml.Node, by *files.Imports) *catalog.Catalogue {
	named := names.New(r)
	parts := files.Read(r, named, from, file, node)
	if parts == nil {
		return nil
	}
	load := func(file string, root *yaml.Node, by *files.Imports) (*catalog.Catalogue, diag.Findings) {
		other := r.Beside()
		return catalogue(other, from, file, root, by), other.Findings
	}
	imported := files.NewImports(named, parts, by, load)
	typed := types.New(named, parts, imported)
	written := settings.New(named, parts)
	declared := settings.NewDeclared(parts.Incomplete)
	subscribed := events.NewSubscriptions(named, parts, written, declared)
	published := events.New(named, parts, typed, written, subscribed, declared)

	root := parts.Root()
	c := &catalog.Catalogue{File: file, Files: parts.FileNames(), Version: r.Version(root)}
	named.Read(root, c)
	written.ReadWhole(root, c)
	named.ReadInitialisms(root)
	typed.ReadGoTypes(root, c)
	imported.Read(root, c)
	c.Packages = parts.Packages(c.Package, imported)
	parts.ReadJSONNames()
	c.Types = typed.Read()
	c.Limits = written.ReadLimits()
	c.Events = published.Read()
	c.Subscriptions = subscribed.ReadPatterns()
	c.Groups = subscribed.ReadGroups(c.Subscriptions)
	c.Schedules = events.ReadSchedules(named, parts, declared)
	c.Types = append(c.Types, typed.Inlines...)
	published.CheckNames()
	c.Imported = files.Foreign(c)
	parts.SetHomes(c)
	files.CheckPackages(r, c)
	catalog.Mark(c.Types)
	headers := settings.NewHeaders(named, parts, typed)
	c.Headers = headers.Read()
	c.Defaults = written.ReadDefaults(root)
	policies := settings.NewPolicies(written, headers, declared)
	c.Policies = policies.Read()
	for _, e := range c.Events {
		e.CloudEvents, e.Headers = c.CloudEvents, c.Headers
	}
	policies.Inherit(c.Defaults)
	headers.CheckSchedules(c.Schedules)
	policies.LimitKeys()
	c.Namespaces = named.Namespaces(c.Events)
	c.ErrorClasses = written.ErrorClasses()
	for _, p := range append([]*catalog.Package{nil}, c.Packages...) {
		named.CheckCollisions(c.In(p, ""))
	}
	if len(r.Findings) == 0 {
		published.CheckSamples()
	}
	return c
}
