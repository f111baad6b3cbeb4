package rules

import "github.com/busgen/busgen/internal/diag"

// The rules of busgen import.
var (
	ImportSyntax     = importing(diag.Error, "import-syntax", "The document is JSON or YAML, and no object has a name twice.")
	ImportDocument   = importing(diag.Error, "import-document", "The document is of the kind that was named, and has an event.")
	ImportKeys       = importing(diag.Error, "import-keys", "Keys of the JSON stay as they are. With `--rename-keys` a change is a warning.")
	ImportPayload    = importing(diag.Warning, "import-payload", "Payloads are JSON objects.")
	ImportReference  = importing(diag.Warning, "import-reference", "References lead to schemas, in files of one folder.")
	ImportKeyword    = importing(diag.Warning, "import-keyword", "Keywords have a counterpart in a catalogue, which `not`, `if` and `anyOf`, for example, do not have.")
	ImportType       = importing(diag.Warning, "import-type", "All values of a schema are of one type.")
	ImportNumber     = importing(diag.Warning, "import-number", "All readers of YAML take a number for the same value, which they do not do with `010`.")
	ImportName       = importing(diag.Warning, "import-name", "Names of properties can be names of fields in JSON.")
	ImportNull       = importing(diag.Warning, "import-null", "Items of lists and values of maps are never null.")
	ImportEnum       = importing(diag.Warning, "import-enum", "Enums have strings only, or integers only, that can be Go constants.")
	ImportUnion      = importing(diag.Warning, "import-union", "The alternatives of `oneOf` are objects, and one property tells them apart.")
	ImportFormat     = importing(diag.Warning, "import-format", "A catalogue has the format.")
	ImportConstraint = importing(diag.Warning, "import-constraint", "A catalogue has the constraint.")
	ImportDefault    = importing(diag.Warning, "import-default", "Defaults are scalars.")
	ImportExample    = importing(diag.Warning, "import-example", "Examples come back as they are: they have no more properties than the schema names, and keep to formats.")
	ImportRefused    = importing(diag.Warning, "import-refused", "The reader of catalogues accepts what is imported, such as examples.")
	ImportDetail     = importing(diag.Note, "import-detail", "A description has no counterpart and is left out; payloads stay the same.")
)

func importing(severity diag.Severity, id, doc string) *diag.Rule {
	return add(diag.Import, severity, id, doc)
}
