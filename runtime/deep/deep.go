// Package deep is empty. Its content is in [github.com/busgen/busgen/runtime/gen/deep].
//
// Only code that an older busgen has generated imports it: run go generate. The package
// is here so that the compiler gets as far as the check of the contract in such code
// (catalogue.gen.go), whose comment says so.
//
// Deprecated: generated code imports runtime/gen/deep.
package deep
