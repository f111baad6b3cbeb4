package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
)

// formerCatalogue reads what the catalogue at path was. against is a file, a folder
// with a file of the same name, or a revision of git.
func formerCatalogue(ctx context.Context, against, path string) (breaking.State, error) {
	info, err := os.Stat(against)
	if err != nil {
		return atRevision(ctx, against, path)
	}
	if info.IsDir() {
		against = filepath.Join(against, filepath.Base(path))
	}
	c, err := catalogueAt([]string{against})
	return breaking.State{Catalogue: c, Read: catalog.Disk{}.ReadFile}, err
}

// atRevision reads a catalogue that git has.
func atRevision(ctx context.Context, against, path string) (breaking.State, error) {
	tree, file, err := openRevision(ctx, against, path)
	if err != nil {
		return breaking.State{}, err
	}
	text, err := tree.ReadFile(file)
	if err != nil {
		return breaking.State{}, fmt.Errorf("there is no %s in %s: name it as git does, as in --against %s:path/to/events.yaml", file, tree.revision, tree.revision)
	}
	c, findings := catalog.ParseWith(tree, file, text)
	if len(findings) > 0 {
		for _, f := range findings {
			f.Pos.File = tree.name(f.Pos.File)
			for i := range f.Related {
				f.Related[i].Pos.File = tree.name(f.Related[i].Pos.File)
			}
		}
		return breaking.State{}, &findingsError{tree.name(file), findings}
	}
	return breaking.State{Catalogue: c, Read: tree.ReadFile, Name: tree.name}, nil
}
