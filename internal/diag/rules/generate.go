package rules

import "github.com/busgen/busgen/internal/diag"

// The rules of busgen generate and check about files in the output folder.
var (
	WireRecord     = generate("wire-form", "wire.golden, the record of the types of stored events, is there and can be read.")
	OtherCatalogue = generate("other-catalogue", "The code in the folder was generated from this catalogue.")
	OutOfDate      = generate("out-of-date", "Generated files are up to date.")
)

func generate(id, doc string) *diag.Rule { return add(diag.Generate, diag.Error, id, doc) }
