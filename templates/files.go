package templates

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/output"
)

// Files generates the Go code of a catalogue, which must be free of findings. Files in
// folders below have a slash in their names. An error means that a Go import path is not
// known, or a defect in this package; it is not about the catalogue.
func Files(c *catalog.Catalogue, at Target) ([]output.File, error) {
	for _, p := range c.Imports {
		if p.ImportPath() == "" {
			return nil, fmt.Errorf("%s: the Go import path of import %s is not known", p.Name.Pos, p.Name.V)
		}
	}
	importPath, err := at.importPath(c)
	switch {
	case err == nil:
	case len(c.Packages) > 0:
		return nil, fmt.Errorf("generating package %s: %w", c.Packages[0].Name.V, err)
	case c.TestKit:
		return nil, fmt.Errorf("generating the test kit: %w", err)
	}
	source := oneLine(filepath.Base(c.File))
	header := "// " + output.Header(source)
	files, err := packageFiles(c.In(nil, importPath), header, "")
	if err != nil {
		return nil, err
	}
	for _, p := range c.Packages {
		below, err := packageFiles(c.In(p, importPath), "// "+output.HeaderBelow(source), p.Name.V+"/")
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	if !c.TestKit {
		return files, nil
	}
	kit, err := testKit(header, c.In(nil, importPath), importPath)
	if err != nil {
		return nil, fmt.Errorf("generating %s: %w", kit.Name, err)
	}
	return append(files, kit), nil
}

// packageFiles generates one package of a catalogue, into a folder.
func packageFiles(c *catalog.Catalogue, header, folder string) ([]output.File, error) {
	emitters := []struct {
		name       string
		constructs func(*catalog.Catalogue) []jen.Code
	}{
		{"payloads.gen.go", payloads},
		{"codec.gen.go", codec},
		{"publish.gen.go", publish},
		{"subscribe.gen.go", subscribe},
		{"headers.gen.go", headers},
		{"answers.gen.go", answers},
		{"awaits.gen.go", awaits},
		{"catalogue.gen.go", catalogue},
		{"schemas.gen.go", schemas},
	}
	files, failures := make([]output.File, len(emitters)), make([]error, len(emitters))
	var running sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0)) // more at once would only take more memory
	for i, e := range emitters {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			constructs := e.constructs(c)
			if len(constructs) == 0 {
				return // it has no events, or nothing but enums
			}
			content, err := source(header, c, constructs)
			if err != nil {
				failures[i] = fmt.Errorf("generating %s: %w", folder+e.name, err)
			}
			files[i] = output.File{Name: folder + e.name, Content: content}
		})
	}
	running.Wait()
	files = slices.DeleteFunc(files, func(f output.File) bool { return f.Name == "" })
	return files, errors.Join(failures...)
}

// Target says where generated code will be.
type Target struct {
	// ImportPath is the Go import path of the generated package. An import path
	// in the catalogue overrides it. Only catalogues with a test kit or several
	// packages need one.
	ImportPath string
	// Unknown is the error for catalogues that need an import path when
	// ImportPath is empty.
	Unknown error
}

// importPath returns the import path of the package generated from c.
func (t Target) importPath(c *catalog.Catalogue) (string, error) {
	switch {
	case c.ImportPath.Written():
		return c.ImportPath.V, nil
	case t.ImportPath != "":
		return t.ImportPath, nil
	case t.Unknown != nil:
		return "", t.Unknown
	}
	return "", errors.New("the Go import path of the generated package is not known")
}
