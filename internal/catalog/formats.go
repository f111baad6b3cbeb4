package catalog

import "github.com/busgen/busgen/internal/format"

// Formats lists the words that `format:` of a field knows.
func Formats() []string { return format.Names() }
