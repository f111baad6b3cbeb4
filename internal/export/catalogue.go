package export

import _ "embed"

//go:embed catalogue.schema.json
var catalogueSchema []byte

// CatalogueSchema returns a JSON Schema (draft 7, which editors know) of the
// language of catalogues. It refuses what a schema can: what a name refers to, and
// how parts of a file fit together, is left to the reader of catalogues.
func CatalogueSchema() []byte { return catalogueSchema }
