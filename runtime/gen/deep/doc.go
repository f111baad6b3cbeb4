// Package deep copies and compares values for generated methods.
//
// Most programs do not call it. Package runtime makes a copy of a payload for each handler with a [Copier]. The
// methods Clone and Equal in copy.gen.go call [Separate] and [Equal], or the other functions if a value has a union
// or a type of a person inside. Validate calls some for types that can contain themselves.
package deep
