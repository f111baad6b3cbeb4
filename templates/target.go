package templates

import (
	"errors"

	"github.com/busgen/busgen/internal/catalog"
)

// Target is what generated code may have to know of the place where it will be.
type Target struct {
	// ImportPath is the Go import path of the generated package; what the
	// catalogue itself says comes first. It can be left out for catalogues whose
	// code never imports the rest of it.
	ImportPath string
	// Unknown is why ImportPath is left out, for catalogues that need it.
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
