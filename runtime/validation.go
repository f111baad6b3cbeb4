package runtime

import "github.com/busgen/busgen/runtime/gen/checks"

// ValidationError lists everything that is wrong with a payload, as [Problem]s.
// Generated Validate methods return it, as a pointer; those of custom types may. Its
// Error method joins the problems with semicolons.
type ValidationError = checks.ValidationError

// Problem is one thing that is wrong with a payload: the Path of the field, such as
// lines[2].price.currency, and a Message for a person. An empty path stands for the
// value as a whole.
type Problem = checks.Problem
