// Package deep copies and compares values without code that is made for their types.
//
// Most programs do not call it. Package runtime makes a copy of a payload for each handler with a [Copier]; its functions
// Clone and Equal, which people call, are [Separate] and [Equal]. Generated methods Validate call some for types that
// can contain themselves. [Pointer], [List] and the like are called by code that an older busgen has generated.
package deep
