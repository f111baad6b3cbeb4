// Package checks has the checks that generated Validate methods make.
//
// A method collects what it finds in [Problems], and returns its Err: nil, or a
// *[ValidationError] that names each field by its path. Functions such as [AtLeast] and
// [Unique] check the constraints of a catalogue; their path is that of the field.
//
// Most programs do not call this package: they see its errors as
// runtime.ValidationError. A Validate method that is written by hand may use it as
// generated ones do.
package checks
