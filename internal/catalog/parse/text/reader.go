package text

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A Reader reads values out of one catalogue, and collects what is wrong with it. Its methods report and go on, so that
// one call finds everything; what could not be read is left out of their results.
type Reader struct {
	*sources               // what was read so far
	Findings diag.Findings // so far
	misspelt int           // unknown names so far
}

// New returns a reader that has read nothing yet.
func New() *Reader { return &Reader{sources: &sources{}} }

// Beside returns a reader of another catalogue, which has findings of its own.
func (r *Reader) Beside() *Reader { return &Reader{sources: r.sources} }

// languageVersion is the version of the catalogue language that this package reads.
const languageVersion = 1

// Version reads `version:` of a file.
func (r *Reader) Version(o Object) catalog.Value[int] {
	e, ok := r.Required(o, "version", "this busgen reads version 1: add \"version: 1\"")
	if !ok {
		return catalog.Value[int]{}
	}
	v, ok := r.WholeNumber(e, o.What)
	if ok && v.V != languageVersion {
		r.Report(r.Place(e.Value), rules.Version, "version %d of the catalogue language is not known", v.V).
			Hint = "this busgen reads version 1; a newer one may read yours"
	}
	return v
}

// maxMisspelt limits for how many unknown names the reader looks for a similar one. Looking takes longer the more names
// there are.
const maxMisspelt = 200

// MayGuess tells whether to look for a name that is similar to an unknown one.
func (r *Reader) MayGuess() bool {
	r.misspelt++
	return r.misspelt <= maxMisspelt
}

// Report adds a finding and returns it, for a hint or related places.
func (r *Reader) Report(at diag.Place, rule *diag.Rule, format string, args ...any) *diag.Finding {
	f := rule.At(at, format, args...)
	r.Findings = append(r.Findings, f)
	return f
}

// Tidied returns the findings in the order of the files.
func (r *Reader) Tidied() diag.Findings {
	var files []string
	for _, src := range r.all {
		files = append(files, src.file)
	}
	for _, f := range r.Findings {
		f.Hint = diag.Visible(f.Hint)
	}
	return r.Findings.Tidy(files)
}
