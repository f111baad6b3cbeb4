package catalogue

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/busfile"
	"github.com/busgen/busgen/internal/cli/clitest"
)

// root makes busgen with the verbs of this package and, for tests with the file of
// a bus, those of package busfile.
var root clitest.Command = func() *cobra.Command {
	root := Generate()
	root.Use = "busgen [events.yaml]"
	return cli.Root(root, cli.Group{Title: "Catalogues:", Verbs: Verbs()}, cli.Group{Title: "The file of a bus:", Verbs: busfile.Verbs()})
}

var (
	run, busgen, typed   = root.Exec, root.Run, root.Typed
	must, inFolder, read = clitest.Must, clitest.InFolder, clitest.Text
)
