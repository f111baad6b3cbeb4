// Package deep copies and compares values for generated methods.
//
// Most programs do not call it. It is for the methods Clone and Equal in
// copy.gen.go and, as far as values contain themselves, for Validate.
package deep
