package templates

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
)

// Linters report uses of deprecated names of other packages. Generated code must use
// all names of the catalogue, so this line switches the report off.
const mayUseDeprecated = "//lint:file-ignore SA1019 This file uses all of the catalogue, including what is deprecated."

// allowDeprecated adds that line below the header of a file.
func allowDeprecated(code []byte) []byte {
	header, rest, _ := bytes.Cut(code, []byte("\n"))
	return slices.Concat(header, []byte("\n"+mayUseDeprecated+"\n"), rest)
}

// usesDeprecated reports whether code, a file of c, uses a deprecated name of another
// package.
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
