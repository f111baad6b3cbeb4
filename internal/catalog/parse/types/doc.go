// Package types reads types, fields and constraints, and turns YAML into the JSON of their values. [Types] owns the
// declared types and the structs in place.
package types
