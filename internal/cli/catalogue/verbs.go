// Package catalogue has the verbs about a catalogue: they generate code from
// it, check it, describe it, change it, and convert it.
//
// Each verb has a file of its own. It reads the catalogue that its first
// argument names ([cli.LoadCatalogue]), and returns its report. operands.go is
// about the arguments after the catalogue, findings.go about --format,
// refused.go about changes that stored events do not survive, rename.go also
// about what all verbs share that change a catalogue.
package catalogue

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
)

// Verbs returns the verbs in the order of the help. Those that compare a catalogue with a bus
// take the addresses of the engines besides files.
func Verbs(on ...cli.Engine) []*cobra.Command {
	verbs := []*cobra.Command{
		Generate(), newCheck(), newLint(), newBreaking(on), newDescribe(), newPolicy(), newDocs(), newExport(), newImport(),
		newSchema(), newFmt(), newRename(), newNew(), newInit(),
	}
	for _, cmd := range verbs {
		cmd.SetFlagErrorFunc(explainFlag)
	}
	return verbs
}

// explainFlag explains to people who look for a flag that the catalogue is an
// argument.
func explainFlag(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if unknown && strings.HasPrefix(name, "catalog") || strings.HasPrefix(err.Error(), "unknown shorthand flag: 'c'") {
		return fmt.Errorf("the catalogue is an argument, and no flag: see \"%s --help\"", cmd.CommandPath())
	}
	return cli.ExplainFlag(cmd, err)
}
