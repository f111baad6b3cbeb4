package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
)

// defaultCatalogue is read if none is named.
const defaultCatalogue = "events.yaml"

// catalogueAt reads the catalogue that is named, or ./events.yaml. If it has
// findings they are the error.
func catalogueAt(args []string) (*catalog.Catalogue, error) {
	path := cataloguePath(args)
	if err := emit.Resume(path); err != nil {
		return nil, err
	}
	c, findings, err := catalog.Load(path)
	if err != nil {
		return nil, unnamed(args, err)
	}
	if len(findings) > 0 {
		return nil, &findingsError{path, findings}
	}
	return c, nil
}

func cataloguePath(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return defaultCatalogue
}

// unnamed explains the error of a catalogue that nobody named.
func unnamed(args []string, err error) error {
	if len(args) == 0 && errors.Is(err, fs.ErrNotExist) {
		return errors.New(`there is no events.yaml in this folder: name the catalogue, as in path/to/events.yaml, or start one with "busgen init"`)
	}
	return err
}

// refused makes the answer no of the findings of a catalogue.
func refused(err error) error {
	var found *findingsError
	if errors.As(err, &found) {
		return &negative{err}
	}
	return err
}

// completeCatalogue has shells offer files that can be catalogues.
func completeCatalogue(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
