package templates

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
)

// Files generates the Go code of a catalogue, which must be free of findings.
// The name of one in a folder below has a slash. An error means a defect in this
// package, or that a Go import path is not known; the catalogue is fine.
func Files(c *catalog.Catalogue, at Target) ([]emit.File, error) {
	emitters := []struct {
		name       string
		constructs func(*catalog.Catalogue) []jen.Code
	}{
		{"payloads.gen.go", payloads},
		{"codec.gen.go", codec},
		{"copy.gen.go", copies},
		{"publish.gen.go", publish},
		{"subscribe.gen.go", subscribe},
		{"catalogue.gen.go", catalogue},
		{"samples.gen.go", samples},
	}
	for _, p := range c.Imports {
		if p.Path == "" {
			return nil, fmt.Errorf("%s: the Go import path of import %s is not known", p.Name.Pos, p.Name.V)
		}
	}
	header := "// " + emit.Header(oneLine(filepath.Base(c.File)))
	files, failures := make([]emit.File, len(emitters)), make([]error, len(emitters))
	var running sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0)) // more at once would only take more memory
	for i, e := range emitters {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			content, err := source(header, c, e.constructs(c))
			if err != nil {
				failures[i] = fmt.Errorf("generating %s: %w", e.name, err)
			}
			files[i] = emit.File{Name: e.name, Content: content}
		})
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	if !c.TestKit {
		return files, nil
	}
	path, err := at.importPath(c)
	if err != nil {
		return nil, fmt.Errorf("generating the test kit: %w", err)
	}
	kit, err := testKit(header, c, path)
	if err != nil {
		return nil, fmt.Errorf("generating %s: %w", kit.Name, err)
	}
	return append(files, kit), nil
}
