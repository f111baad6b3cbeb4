// Package deep copies and compares values for generated methods.
//
// Most programs do not call it. The methods Clone and Equal in copy.gen.go do, and
// Validate does for types that can contain themselves.
package deep
