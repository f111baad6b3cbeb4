package templates

import (
	"errors"

	"github.com/busgen/busgen/internal/catalog"
)

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
