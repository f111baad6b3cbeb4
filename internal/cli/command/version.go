package command

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/templates"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of busgen",
		Long: `Version prints the version of busgen, the Go version it was built with, and the
generation contract: the version of the agreement between generated code and
the runtime package. Code and runtime of different contracts may not compile.`,
		Args: cli.NoArgs,
		RunE: cli.Report(func([]string) (string, error) { return version(), nil }),
	}
}

func version() string {
	busgen, built := "(unknown)", "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		busgen, built = info.Main.Version, info.GoVersion
	}
	return fmt.Sprintf("busgen %s\n%s\ngeneration contract %d\n", busgen, built, templates.Contract)
}
