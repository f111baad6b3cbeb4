package catalogue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/input"
	"github.com/busgen/busgen/internal/record/git"
)

// formerCatalogue reads the former state of the catalogue at path. against is a
// file, a folder with a file of the same name, or a revision of git.
func formerCatalogue(ctx context.Context, against, path string) (breaking.State, error) {
	info, err := os.Stat(against)
	isThere, kind, place := err == nil, "file", against
	if isThere && info.IsDir() {
		kind, place = "folder", filepath.Join(against, filepath.Base(path))
		_, err = os.Stat(place)
	}
	tree, inGit, noRevision := git.OpenRevision(ctx, against, path)
	switch {
	case noRevision != nil && !isThere:
		return breaking.State{}, noRevision
	case noRevision == nil && err == nil:
		return breaking.State{}, fmt.Errorf("--against %s is a revision in git, and %s is a file: write %s for the revision, or ./%s for the %s",
			against, place, tree.FullName(), filepath.ToSlash(against), kind)
	case noRevision == nil:
		return atRevision(tree, inGit)
	}
	c, err := cli.LoadCatalogue([]string{place})
	return breaking.State{Catalogue: c, Read: parse.Disk{}.ReadFile}, err
}

// atRevision reads a catalogue from git.
func atRevision(tree *git.Revision, file string) (breaking.State, error) {
	if refs := tree.Refs(); len(refs) > 1 {
		return breaking.State{}, fmt.Errorf("git has several revisions named %s: write %s", tree, strings.Join(refs, " or "))
	}
	text, err := tree.ReadFile(file)
	if err != nil {
		return breaking.State{}, fmt.Errorf("there is no %s in %s: name it as git does, as in --against %s:path/to/events.yaml", file, tree, tree)
	}
	if len(text) > parse.MaxFile {
		return breaking.State{}, fmt.Errorf("cannot read %s: %w", tree.FileName(file), &input.TooLargeError{Size: int64(len(text)), Limit: parse.MaxFile})
	}
	c, findings := parse.TextWith(tree, file, text)
	if len(findings) > 0 {
		for _, f := range findings {
			f.Pos.File = tree.FileName(f.Pos.File)
			for i := range f.Related {
				f.Related[i].Pos.File = tree.FileName(f.Related[i].Pos.File)
			}
		}
		return breaking.State{}, &cli.FindingsError{File: tree.FileName(file), Findings: findings}
	}
	return breaking.State{Catalogue: c, Read: tree.ReadFile, Name: tree.FileName}, nil
}
