package templates

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
)

// Linters report uses of what is deprecated in another package. Generated code uses
// all that the catalogue has, so its files say that they may.
const mayUseDeprecated = "//lint:file-ignore SA1019 What is deprecated in the catalogue is in it still."

// allowDeprecated adds that line below the header of a file.
func allowDeprecated(code []byte) []byte {
	header, rest, _ := bytes.Cut(code, []byte("\n"))
	return slices.Concat(header, []byte("\n"+mayUseDeprecated+"\n"), rest)
}

// usesDeprecated tells whether the code of a file of c has a name that is deprecated in
// another package.
func usesDeprecated(c *catalog.Catalogue, code []byte) bool {
	for _, t := range c.Imported {
		alias := goodAlias(t.Package.Name.V) + "."
		uses := func(goName string) bool {
			return regexp.MustCompile(`\b` + regexp.QuoteMeta(alias+goName) + `\b`).Match(code)
		}
		if t.Deprecated.Written() && uses(t.GoName) {
			return true
		}
		for _, v := range t.Values {
			if v.Deprecated.Written() && uses(v.GoName) {
				return true
			}
		}
	}
	return false
}
