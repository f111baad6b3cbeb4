package catalogue

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/edit"
	"github.com/busgen/busgen/templates"
)

func newNewVersion() *cobra.Command {
	var e editing
	cmd := operands{least: 1, most: 1, what: "the name of one event, as in order.placed", candidates: (*catalog.Catalogue).EventLabels}.of(&cobra.Command{
		Use:   "version [events.yaml] EVENT",
		Short: "Begin a new version of an event's payload",
		Long: `Version raises the version of an event and keeps the payload that it has under
its history, so that the payload can be changed and stored events can still be
read. It prints the function that converts a stored payload to the new version:
put it beside the generated code, and complete it after you have changed the
payload.
` + editStatus,
		Example: `  busgen new version order.placed
  busgen new version order.placed --diff`,
		RunE: cli.Report(func(args []string) (string, error) { return beginVersion(&e, e.of(args)[0]) }),
	})
	e.flags(cmd)
	return cmd
}

func beginVersion(e *editing, event string) (string, error) {
	report, err := e.change(
		func(c *edit.Catalogue) (*edit.Change, error) { return edit.AddVersion(c, event) },
		func(files string, _ int) string { return files + ": the payload of " + event + " can be changed" },
	)
	if err != nil || e.diff {
		return report, err
	}
	return report + nextSteps(e.catalogue, event), nil
}

// nextSteps says what to do after a new version.
func nextSteps(catalogue []string, event string) string {
	c, err := cli.LoadCatalogue(catalogue)
	if err != nil {
		return "" // the edit has been checked, so it has no findings
	}
	changed := c.EventLabelled(event)
	before := changed.History[len(changed.History)-1]
	function, err := templates.Upcast(changed, before.Version.V)
	if err != nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Change the payload, generate, and write beside the generated code:\n\n%s", function)
	if n := len(changed.History); n > 1 {
		fmt.Fprintf(&b, "\n%s returns %s from now on.\n", changed.History[n-2].UpcastName(), before.Type.GoName)
	}
	return b.String()
}
