package catalogue

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/gomod"
	"github.com/busgen/busgen/internal/input"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/templates"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [folder]",
		Short: "Start a catalogue in a new folder",
		Long: `Init writes three files into a folder, ./events unless named: events.yaml, a
small catalogue whose comments explain the language; generate.go, which makes
"go generate" run busgen; and .gitattributes, by which git merges the record of
types in wire.golden.

It never overwrites: if one of the first two exists, it writes nothing. To a
.gitattributes that exists, you add the line yourself.

Exit status: 0 the files were written, 2 trouble.`,
		Example: `  busgen init
  busgen init internal/shopevents`,
		Args: cli.AtMostOne("folder"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: cli.Report(initialize),
	}
}

func initialize(args []string) (report string, err error) {
	dir := "events"
	if len(args) > 0 {
		dir = filepath.Clean(args[0])
	}
	files := templates.Starter(packageName(dir))
	attributes, err := input.ReadFile(filepath.Join(dir, templates.AttributesFile), input.Unlimited)
	if err == nil {
		files = slices.DeleteFunc(files, func(f output.File) bool { return f.Name == templates.AttributesFile })
	}
	hasLine := err != nil || strings.Contains(string(attributes), templates.Attributes)
	err = output.Create(dir, files)
	var exists *output.ExistsError
	if errors.As(err, &exists) {
		return "", fmt.Errorf("%w; name another folder, as in \"busgen init internal/events\"", err)
	}
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, file := range files {
		fmt.Fprintf(&lines, "wrote %s\n", filepath.Join(dir, file.Name))
	}
	lines.WriteString("\nNext:\n")
	tools, inModule := gomod.Tools(dir)
	if !inModule {
		lines.WriteString("  go mod init example.org/shop                      # there is no go.mod yet\n")
	}
	if !slices.Contains(tools, toolPath) {
		lines.WriteString("  go get -tool " + toolPath + "  # once per module\n")
	}
	if !hasLine {
		fmt.Fprintf(&lines, "  echo %q >> %s\n", strings.TrimSpace(templates.Attributes), filepath.Join(dir, templates.AttributesFile))
	}
	fmt.Fprintf(&lines, "  go generate %s\n  go mod tidy\nThen edit %s and run go generate again.\n", goPath(dir), filepath.Join(dir, "events.yaml"))
	return lines.String(), nil
}

// toolPath is the import path of this command.
const toolPath = "github.com/busgen/busgen/cmd/busgen"

// packageName returns the name of the folder if it is a good package name, and
// else events.
func packageName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "events"
	}
	name := filepath.Base(abs)
	if names.PackageProblem(name) != "" || name != strings.ToLower(name) || strings.Contains(name, "_") {
		return "events"
	}
	return name
}

// goPath returns a folder as the go command expects it: ./events, not events.
func goPath(dir string) string {
	slashed := filepath.ToSlash(dir)
	if filepath.IsAbs(dir) || slashed == "." || strings.HasPrefix(slashed, "../") {
		return slashed
	}
	return "./" + slashed
}
