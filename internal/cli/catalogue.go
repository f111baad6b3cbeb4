package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

// defaultCatalogue is read if the command line names none.
const defaultCatalogue = "events.yaml"

// LoadCatalogue reads the catalogue that the arguments name, or ./events.yaml.
// If it has findings the error is a [FindingsError].
func LoadCatalogue(args []string) (*catalog.Catalogue, error) {
	path := CataloguePath(args)
	c, findings, err := parse.Load(path)
	if err != nil {
		return nil, Unread(args, err)
	}
	if len(findings) > 0 {
		return nil, &FindingsError{File: path, Findings: findings}
	}
	return c, nil
}

// CataloguePath returns the path of the catalogue that the arguments name.
func CataloguePath(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return defaultCatalogue
}

// IsCatalogue tells an argument that names a catalogue from a misspelt verb.
func IsCatalogue(arg string) bool {
	return strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") || strings.ContainsAny(arg, `/\`)
}

// Unread explains why the catalogue that the arguments name cannot be read.
func Unread(args []string, err error) error {
	path := CataloguePath(args)
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
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no catalogue at %s: name another file, or start one with \"busgen init\"", path)
	}
	return err
}

// CompleteCatalogue makes shells offer files that can be catalogues.
func CompleteCatalogue(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
