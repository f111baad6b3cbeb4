// Package checks has the functions that generated Validate methods call.
//
// A Validate method collects problems in [Problems] and returns Problems.Err: nil, or a
// *[ValidationError] that names each field by its path. Functions such as [AtLeast] and
// [Unique] check the constraints of a catalogue; their argument path is the field.
//
// Most programs do not call this package. They see its errors as
// runtime.ValidationError. Validate methods that are written by hand may use it too.
package checks
