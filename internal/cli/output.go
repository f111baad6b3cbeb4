package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/input"
	"github.com/busgen/busgen/internal/output"
)

// Output says where a verb writes its result: to standard output, or to the file
// of --out. A file with other content is overwritten with --force only.
type Output struct {
	File  string
	force bool
}

// OutputHelp is a paragraph of the manual of each verb that has an output.
const OutputHelp = `The result goes to standard output, or to the file that --out names. A file that
exists is not overwritten without --force, and one that is up to date is not
touched.`

// Flags adds --out and --force.
func (o *Output) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.File, "out", "o", "", "write to a `file`, not to standard output")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file that --out names")
}

// Deliver returns content as the report, or writes it to the file and reports
// that.
func (o *Output) Deliver(content []byte) (report string, err error) {
	if o.File == "" {
		return string(content), nil
	}
	err = output.Create(filepath.Dir(o.File), []output.File{{Name: filepath.Base(o.File), Content: content}})
	var exists *output.ExistsError
	switch {
	case err == nil:
		return "wrote " + o.File + "\n", nil
	case !errors.As(err, &exists):
		return "", fmt.Errorf("cannot write %s: %w", o.File, err)
	}
	if have, readErr := input.ReadFile(o.File, input.Unlimited); readErr == nil && bytes.Equal(have, content) {
		return o.File + " is up to date\n", nil
	}
	if !o.force {
		return "", fmt.Errorf("%w; name another file, or overwrite it with --force", err)
	}
	if _, err := output.Replace(o.File, content); err != nil {
		return "", fmt.Errorf("cannot write %s: %w", o.File, err)
	}
	return "wrote " + WithTarget(o.File) + "\n", nil
}

// WithTarget returns a path and, if it is a symbolic link, the file that it
// leads to.
func WithTarget(path string) string {
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
