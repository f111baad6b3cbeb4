package templates

import (
	"fmt"
	"path/filepath"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
)

// Files generates the Go code of a catalogue, which must be free of findings.
// An error means a defect in this package, not in the catalogue.
func Files(c *catalog.Catalogue) ([]emit.File, error) {
	emitted := []struct {
		name       string
		constructs []jen.Code
	}{
		{"payloads.gen.go", payloads(c)},
		{"codec.gen.go", codec(c)},
		{"copy.gen.go", copies(c)},
		{"publish.gen.go", publish(c)},
		{"subscribe.gen.go", subscribe(c)},
		{"catalogue.gen.go", catalogue(c)},
		{"samples.gen.go", samples(c)},
	}
	header := "// " + emit.Header(oneLine(filepath.Base(c.File)))
	var files []emit.File
	for _, e := range emitted {
		content, err := source(header, c, e.constructs)
		if err != nil {
			return nil, fmt.Errorf("generating %s: %w", e.name, err)
		}
		files = append(files, emit.File{Name: e.name, Content: content})
	}
	return files, nil
}
