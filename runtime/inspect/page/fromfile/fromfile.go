// Package fromfile reads a catalogue file for the page for operators, which then shows the
// docs of fields, and the line that each setting comes from:
//
//	known, err := fromfile.Catalogue("events.yaml")
//	operators, err := page.New(file, known)
//
// Who imports this package links the reader of catalogues, as with package tuning.
package fromfile

import (
	"errors"
	"fmt"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/runtime/inspect/page"
)

// Catalogue reads the catalogue at path, with the files that it includes, once. It returns an
// error if the file cannot be read or has findings.
func Catalogue(path string) (page.Option, error) {
	c, findings, err := parse.Load(path)
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	if len(findings) > 0 {
		var all []error
		for _, f := range findings {
			all = append(all, errors.New(f.String()))
		}
		return nil, fmt.Errorf("read the catalogue: %w", errors.Join(all...))
	}
	return page.WithSource(c), nil
}
