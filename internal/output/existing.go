package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Existing is a generated file in a folder.
type Existing struct {
	Path string
	// Catalogue is the name of the catalogue in its header.
	Catalogue string
}

// ExistingIn lists the generated Go files of a folder, without subfolders.
func ExistingIn(dir string) ([]Existing, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the output folder: %w", err)
	}
	var all []Existing
	for _, entry := range entries {
		for _, name := range candidate("", entry) {
			path := filepath.Join(dir, name)
			line, err := firstLine(path)
			if err != nil {
				return nil, fmt.Errorf("cannot tell whether a file is generated: %w", err)
			}
			if name, ok := SourceOf(line); ok && !strings.HasPrefix(name, above) {
				all = append(all, Existing{path, name})
			}
		}
	}
	return all, nil
}

// firstLine reads the part of a file that [SourceOf] needs.
func firstLine(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, 1<<12))
}

// SourceOf returns the name of the catalogue in the header of a generated file, and false for a file that
// busgen did not generate.
func SourceOf(content []byte) (string, bool) {
	line, rest, _ := strings.Cut(string(content[:min(len(content), 1<<12)]), "\n")
	if strings.HasPrefix(line, "<<<<<<< ") { // a merge left two headers
		line, _, _ = strings.Cut(rest, "\n")
	}
	// A checkout on Windows may end the line with \r\n.
	name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "// "+headerPrefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, headerSuffix)
}
