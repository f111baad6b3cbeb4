package busfile

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
)

// root makes busgen with the verbs of this package.
var root clitest.Command = func() *cobra.Command {
	return cli.Root(&cobra.Command{Use: "busgen"}, cli.Group{Title: "The file of a bus:", Verbs: Verbs()}, cli.Group{Verbs: []*cobra.Command{cli.Completion()}})
}

var (
	run, busgen, typed, does = root.Exec, root.Run, root.Typed, root.Does
	must, inFolder           = clitest.Must, clitest.InFolder
)
