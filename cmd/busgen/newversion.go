package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/edit"
	"github.com/busgen/busgen/templates"
)

func newNewVersion() *cobra.Command {
	var e editing
	cmd := &cobra.Command{
		Use:   "version EVENT",
		Short: "Begin a new version of an event's payload",
		Long: `Version raises the version of an event and keeps the payload that it has under
its history, so that the payload can be changed and stored events can still be
read. It prints the function that makes of a stored payload what it would be
today: put it beside the generated code, and go on from there when the payload
is what it should be.
` + editStatus,
		Example: `  busgen new version order.placed
  busgen new version order.placed --diff`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes the name of one event, as in \"%s order.placed\"", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: verb(func(args []string) (string, error) { return beginVersion(&e, args[0]) }),
	}
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
	return report + nextSteps(e.file, event), nil
}

// nextSteps says what is left to do after a new version.
func nextSteps(file, event string) string {
	c, err := catalogueAt([]string{file})
	if err != nil {
		return "" // it was free of findings a moment ago
	}
	changed := c.EventNamed(event)
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
