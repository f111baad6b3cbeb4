package checks

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ValidationError lists all problems of a payload. Generated Validate methods return
// it. Programs use its other name, runtime.ValidationError.
type ValidationError struct {
	Problems []Problem
}

// Problem is one problem of a payload. A Validate method that a person writes may make one.
type Problem struct {
	Path    string // lines[2].price.currency; empty for the value as a whole
	Message string // a phrase in English that follows the path
}

// String formats the problem as path: message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Error joins the problems with semicolons.
func (e *ValidationError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// Problems collects the problems that a Validate method finds. The zero value is ready
// to use. It allocates nothing before the first problem. It is not safe for concurrent
// use.
//
// Its methods are not inlined: they would be compiled again at each of their calls, in each build of the generated
// package, for a nanosecond.
type Problems struct {
	found []Problem
}

// Err returns nil if there are no problems, and otherwise a *[ValidationError] with all
// of them.
//
//go:noinline
func (p *Problems) Err() error {
	if len(p.found) == 0 {
		return nil
	}
	return &ValidationError{Problems: p.found}
}

// Len returns how many problems there are.
func (p *Problems) Len() int { return len(p.found) }

// Add reports a problem of the field at path; an empty path stands for the value as a
// whole.
func (p *Problems) Add(path, message string) {
	p.found = append(p.found, Problem{Path: path, Message: message})
}

// Text checks that s is valid UTF-8. JSON cannot hold other bytes, and replacing them
// silently would store another text than was published.
//
//go:noinline
func (p *Problems) Text(path, s string) {
	if !utf8.ValidString(s) {
		p.Add(path, notUTF8)
	}
}

// TextItem is Text for the i-th element of a list.
//
//go:noinline
func (p *Problems) TextItem(path string, i int, s string) {
	if !utf8.ValidString(s) {
		p.Add(itemPath(path, i), notUTF8)
	}
}

// TextEntry is Text for the value of a map's key.
//
//go:noinline
func (p *Problems) TextEntry(path, key, s string) {
	if !utf8.ValidString(s) {
		p.Add(entryPath(path, key), notUTF8)
	}
}

// Key checks that a map's key is valid UTF-8.
//
//go:noinline
func (p *Problems) Key(path, key string) {
	if !utf8.ValidString(key) {
		p.Add(entryPath(path, key), "the key is not valid UTF-8")
	}
}

// Finite checks that f is neither NaN nor infinite: JSON has no form for them.
//
//go:noinline
func (p *Problems) Finite(path string, f float64) {
	if notFinite(f) {
		p.Add(path, strconv.FormatFloat(f, 'g', -1, 64)+" is not a finite number")
	}
}

// FiniteItem is Finite for the i-th element of a list.
//
//go:noinline
func (p *Problems) FiniteItem(path string, i int, f float64) {
	if notFinite(f) {
		p.Finite(itemPath(path, i), f)
	}
}

// FiniteEntry is Finite for the value of a map's key.
//
//go:noinline
func (p *Problems) FiniteEntry(path, key string, f float64) {
	if notFinite(f) {
		p.Finite(entryPath(path, key), f)
	}
}

// Nested adds the error of a nested value's Validate method; path is the field that
// holds the value.
//
//go:noinline
func (p *Problems) Nested(path string, err error) {
	if err != nil {
		p.nest(path, err)
	}
}

// Item is Nested for the i-th element of a list.
//
//go:noinline
func (p *Problems) Item(path string, i int, err error) {
	if err != nil {
		p.nest(itemPath(path, i), err)
	}
}

// Entry is Nested for the value of a map's key.
//
//go:noinline
func (p *Problems) Entry(path, key string, err error) {
	if err != nil {
		p.nest(entryPath(path, key), err)
	}
}

// NotInEnum returns the error of an enum's Validate method for a value that is not
// one of allowed.
func NotInEnum(value string, allowed ...string) error {
	message := fmt.Sprintf("%q is not one of %s", value, listed(allowed))
	if value == "" {
		message = "is not set; choose one of " + listed(allowed)
	}
	return &ValidationError{Problems: []Problem{{Message: message}}}
}

// listed shows the values of an enum. One that is empty can be seen.
func listed(values []string) string {
	texts := slices.Clone(values)
	if i := slices.Index(texts, ""); i >= 0 {
		texts[i] = `""`
	}
	return strings.Join(texts, ", ")
}

// NotANumberOf is NotInEnum for an enum of numbers; allowed describes them, as in
// "1 (low)".
func NotANumberOf(value int, allowed ...string) error {
	return &ValidationError{Problems: []Problem{{Message: fmt.Sprintf("%d is not one of %s", value, strings.Join(allowed, ", "))}}}
}

// NotAVariant returns the error for a value of a union that is not one of its variants:
// nil, or a pointer to a variant. allowed lists the names of the variants.
func NotAVariant(value any, allowed ...string) error {
	message := fmt.Sprintf("is a %T, which is not one of %s", value, listed(allowed))
	if value == nil {
		message = "is not set; choose one of " + listed(allowed)
	}
	return &ValidationError{Problems: []Problem{{Message: message}}}
}

const notUTF8 = "is not valid UTF-8"

func (p *Problems) nest(path string, err error) {
	var nested *ValidationError
	if !errors.As(err, &nested) {
		p.Add(path, err.Error())
		return
	}
	for _, problem := range nested.Problems {
		p.Add(joinPath(path, problem.Path), problem.Message)
	}
}

func joinPath(outer, inner string) string {
	if inner == "" || strings.HasPrefix(inner, "[") {
		return outer + inner
	}
	return outer + "." + inner
}

func itemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func entryPath(path, key string) string { return path + "[" + strconv.Quote(key) + "]" }

func notFinite(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }
