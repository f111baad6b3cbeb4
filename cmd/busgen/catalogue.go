package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
		return nil, unread(args, err)
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

// unread explains why there is no catalogue where one was looked for.
func unread(args []string, err error) error {
	path := cataloguePath(args)
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: name the catalogue in it, as in %s", path, filepath.Join(path, defaultCatalogue))
	}
	if len(args) == 0 && errors.Is(err, fs.ErrNotExist) {
		likely := filepath.Join("events", defaultCatalogue) // where init writes it
		if _, err := os.Stat(likely); err != nil {
			likely = "path/to/" + defaultCatalogue
		}
		return fmt.Errorf("there is no %s in this folder: name the catalogue, as in %s, or start one with \"busgen init\"", defaultCatalogue, likely)
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
