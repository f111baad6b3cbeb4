// Package git finds the record of the types of stored events in a repository of
// git, and compares a catalogue with it.
//
// [Compare] is the whole of it: it takes the record of the last commit or, in a
// merge, a cherry-pick or a rebase, that of the commits involved (record.go);
// adds what a commit such as a revert has taken back although events of it may be
// stored (past.go); and outside of git takes the file beside the generated code.
//
// [Revision] reads the files of a commit, and shows them as [parse.Files].
package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/input"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/internal/record"
)

// Compare compares a catalogue with the record of the code in the folder out.
// The findings of the result say what the change does to stored events; accept
// accepts all of them. The error is about files and git.
func Compare(ctx context.Context, c *catalog.Catalogue, out string, accept bool) (record.Result, error) {
	w := generated{ctx: ctx, catalogue: c, out: out, path: filepath.Join(out, record.FileName)}
	var err error
	w.present, err = input.ReadFile(w.path, input.Unlimited)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return record.Result{}, fmt.Errorf("cannot compare the types of events with what they were: %w", err)
	}
	if w.existing, err = output.ExistingIn(out); err != nil {
		return record.Result{}, err
	}
	if finding := w.otherCatalogue(); finding != nil {
		return record.Result{Findings: diag.Findings{finding}}, nil
	}
	before, err := w.record()
	if err != nil {
		return record.Result{}, err
	}
	result, err := record.Compare(c, before, record.Options{Catalogue: w.relative(c.File), Read: parse.Disk{}.ReadFile, Present: w.present, Accept: accept})
	if before == nil && w.present == nil && len(w.existing) > 0 && !accept {
		result.Findings = append(result.Findings, w.missing())
	}
	return result, err
}

// generated is a folder with generated code and its record.
type generated struct {
	ctx       context.Context
	catalogue *catalog.Catalogue
	out, path string // the folder, and the record in it
	present   []byte // the record in the folder; nil if there is none
	existing  []output.Existing
}

// record returns the record to compare with: the one that git has or, without
// git, the file in the folder. It returns nil if there is none.
func (w *generated) record() (*record.Record, error) {
	g, err := openRepository(w)
	if err != nil {
		return nil, err
	}
	if g != nil {
		before, err := g.find()
		if before != nil || err != nil || !g.isIgnored() {
			return before, err
		}
	}
	if !record.IsRecord(w.present) {
		return nil, nil // a file written by hand is found when it would be replaced
	}
	return record.Read(w.path, w.present), nil
}

// relative returns the path of a file from the output folder.
func (w *generated) relative(file string) string {
	from, err := filepath.Abs(w.out)
	to, err2 := filepath.Abs(file)
	if errors.Join(err, err2) == nil {
		if relative, err := filepath.Rel(from, to); err == nil {
			return filepath.ToSlash(relative)
		}
	}
	return filepath.Base(file) // on another drive
}

// otherCatalogue returns a finding if the code in the folder was generated from
// another catalogue that still exists: both would write the same files.
func (w *generated) otherCatalogue() *diag.Finding {
	header, ok := output.SourceOf(w.present)
	claim := struct{ path, catalogue string }{w.path, header}
	if !ok && len(w.existing) > 0 {
		claim.path, claim.catalogue = w.existing[0].Path, w.existing[0].Catalogue
	}
	written := ""
	if ok {
		written = record.Read(w.path, w.present).Catalogue()
	}
	switch {
	case claim.catalogue == "":
		return nil
	case written != "":
		claim.catalogue = written
	case claim.catalogue == filepath.Base(w.catalogue.File):
		return nil // a header has no folder
	}
	other := filepath.Join(w.out, filepath.FromSlash(claim.catalogue))
	if info, err := os.Stat(other); err != nil || !info.Mode().IsRegular() || w.isPart(other) {
		return nil // it was renamed, was removed, or is included in this one
	}
	f := rules.OtherCatalogue.At(headerOf(claim.path), "%s was generated from %s, and not from %s", claim.path, other, w.catalogue.File)
	f.Hint = fmt.Sprintf("write one of the two into another folder with --out; if %s replaces %s, remove the latter", w.catalogue.File, other)
	return f
}

// isPart reports whether a file is the catalogue or included in it. Links count.
func (w *generated) isPart(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	for _, part := range w.catalogue.Files {
		if other, err := os.Stat(part); err == nil && os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// headerOf returns the place of the first line of a generated file.
func headerOf(path string) diag.Place {
	return diag.NewSource(parse.Disk{}.ReadFile).Place(diag.Position{File: path, Line: 1, Column: 1})
}

// missing returns the finding about code without a record.
func (w *generated) missing() *diag.Finding {
	f := rules.WireRecord.At(headerOf(w.existing[0].Path), "%s is missing, so busgen cannot tell which changes break stored events", w.path)
	f.Hint, f.Direction = "restore the file, or generate with --accept-wire to begin a new one", diag.Backward
	return f
}
