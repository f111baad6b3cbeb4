package command

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/templates"
)

func newVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of busgen",
		Long: `Version prints what a report of a bug should name:

  * the version of the module, which is (devel) in a build from a folder
  * the revision of git that it was built from, and whether files were changed,
    if the build could tell: one of a released module cannot
  * the version of Go
  * the generation contract: the version of the agreement between generated code
    and the runtime package, and the oldest one whose code still compiles
  * the file format: the version of the tables in the file of a bus. This busgen
    reads files of all older formats. A program that opens one brings it to this
    format. Files of a newer format are refused.`,
		Example: `  busgen version
  busgen version --json`,
		Args: cli.NoArgs,
		RunE: cli.Report(func([]string) (string, error) {
			if asJSON {
				return cli.Document(readVersion())
			}
			return readVersion().text(), nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// versions is what busgen version prints.
type versions struct {
	Version        string `json:"version"`
	Revision       string `json:"revision,omitempty"`
	Time           string `json:"time,omitempty"`
	Changed        bool   `json:"changed,omitempty"`
	Go             string `json:"go"`
	Contract       int    `json:"contract"`
	OldestContract int    `json:"oldest_contract"`
	FileFormat     int    `json:"file_format"`
}

func readVersion() versions {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: "(unknown)", Main: debug.Module{Version: "(unknown)"}}
	}
	return versionsOf(info)
}

func versionsOf(info *debug.BuildInfo) versions {
	v := versions{
		Version: info.Main.Version, Go: info.GoVersion,
		Contract: templates.Contract, OldestContract: runtime.OldestContract, FileFormat: inspect.FileFormat,
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Changed = s.Value == "true"
		}
	}
	return v
}

func (v versions) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "busgen %s\n", v.Version)
	if v.Revision != "" {
		changed := ""
		if v.Changed {
			changed = ", with changed files"
		}
		fmt.Fprintf(&b, "revision %s of %s%s\n", v.Revision, v.Time, changed)
	}
	fmt.Fprintf(&b, "%s\ngeneration contract %d, and code from contract %d on\nfile format %d\n", v.Go, v.Contract, v.OldestContract, v.FileFormat)
	return b.String()
}
