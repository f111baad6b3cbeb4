package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/emit"
	"github.com/busgen/busgen/internal/input"
)

// An output says where a verb writes its result: to standard output, or to the file of --out.
// A file with other content is overwritten with --force only.
type output struct {
	file  string
	force bool
}

// outputHelp is a paragraph of the manual of each verb that has an output.
const outputHelp = `The result goes to standard output, or to the file that --out names. A file that
exists is not overwritten without --force, and one that is up to date is not
touched.`

// flags adds --out and --force.
func (o *output) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.file, "out", "o", "", "write to a `file`, not to standard output")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file that --out names")
}

// deliver returns content as the report, or writes it to the file and reports that.
func (o *output) deliver(content []byte) (report string, err error) {
	if o.file == "" {
		return string(content), nil
	}
	err = emit.Create(filepath.Dir(o.file), []emit.File{{Name: filepath.Base(o.file), Content: content}})
	var exists *emit.ExistsError
	switch {
	case err == nil:
		return "wrote " + o.file + "\n", nil
	case !errors.As(err, &exists):
		return "", fmt.Errorf("cannot write %s: %w", o.file, err)
	}
	if have, readErr := input.ReadFile(o.file, input.Unlimited); readErr == nil && bytes.Equal(have, content) {
		return o.file + " is up to date\n", nil
	}
	if !o.force {
		return "", fmt.Errorf("%w; name another file, or overwrite it with --force", err)
	}
	if _, err := emit.Replace(o.file, content); err != nil {
		return "", fmt.Errorf("cannot write %s: %w", o.file, err)
	}
	return "wrote " + withTarget(o.file) + "\n", nil
}

// withTarget says which file is changed if somebody names a symbolic link.
func withTarget(path string) string {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return path + ", a link to " + to
}
