package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/emit"
)

func newCheck() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "check [events.yaml]",
		Short: "Tell whether the generated code is up to date",
		Long: `Check does everything that generate does except writing. It lists the files that
generate would create (missing), replace (changed) or remove (orphaned).

Exit status: 0 up to date, 1 not up to date, 2 trouble: with the command line,
with files, or findings in the catalogue.`,
		Example: `  busgen check
  busgen check events/events.yaml`,
		Args: atMostOne("catalogue"),
		RunE: verb(func(args []string) (string, error) { return check(args, out) }),
	}
	outFlag(cmd, &out)
	return cmd
}

func check(args []string, out string) (report string, err error) {
	c, plan, err := compare(args, out)
	if err != nil {
		return "", err
	}
	if plan.UpToDate() {
		return "", nil
	}
	var lines strings.Builder
	for _, step := range plan.Steps {
		if step.State != emit.Same {
			fmt.Fprintf(&lines, "%-8s  %s\n", step.State, filepath.Join(plan.Dir, step.File.Name))
		}
	}
	advice := "busgen generate " + c.File
	if out != "" {
		advice += " --out " + out
	}
	return lines.String(), &negative{errors.New("the generated code is not up to date: run \"" + advice + "\"")}
}
