package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
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
	service := false
	cmd := &cobra.Command{
		Use:   "init [folder]",
		Short: "Start a catalogue in a new folder, or a service",
		Long: `Init writes three files into a folder, ./events unless named: events.yaml, a
small catalogue whose comments explain the language; generate.go, which makes
"go generate" run busgen; and .gitattributes, by which git merges the record of
types in wire.golden.

With --service it writes a small program into a folder of a Go module, the
current one unless named: a catalogue in events, handlers, HTTP with health and
metrics, tests, a Dockerfile and a unit for systemd. It builds, its tests pass,
and all of it is yours to change.

It never overwrites: if a file exists, it writes nothing. To a .gitattributes
that exists, you add the line yourself.

Exit status: 0 the files were written, 2 trouble.`,
		Example: `  busgen init
  busgen init internal/shopevents
  busgen init --service`,
		Args: cli.AtMostOne("folder"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: cli.Report(func(args []string) (string, error) {
			if service {
				return initializeService(args)
			}
			dir := folderOf(args, "events")
			return initialize(dir, templates.Starter(packageName(dir)), starterSteps(dir))
		}),
	}
	cmd.Flags().BoolVar(&service, "service", false, "write a whole program, and not the catalogue alone")
	return cmd
}

func folderOf(args []string, otherwise string) string {
	if len(args) == 0 {
		return otherwise
	}
	return filepath.Clean(args[0])
}

// starterSteps says what comes after the files of a catalogue.
func starterSteps(dir string) string {
	return fmt.Sprintf("  go generate %s\n  go mod tidy\nThen edit %s and run go generate again.\n", goPath(dir), filepath.Join(dir, "events.yaml"))
}

func initializeService(args []string) (string, error) {
	dir := folderOf(args, ".")
	importPath, err := gomod.ImportPath(dir)
	if missing := new(gomod.NoModuleError); errors.As(err, &missing) {
		return "", errors.New("a service is part of a Go module, and there is no go.mod here or above: run \"go mod init example.org/shop\" first")
	}
	if err != nil {
		return "", err
	}
	name := strings.Trim(unfit.ReplaceAllString(strings.ToLower(path.Base(importPath)), "-"), "-")
	all := "./..."
	if dir != "." {
		all = goPath(dir) + "/..."
	}
	return initialize(dir, templates.Service(importPath, cmp.Or(name, "service")),
		fmt.Sprintf("  go generate %s\n  go mod tidy\n  go test %[1]s\n  go run %s\n", all, goPath(dir)))
}

// unfit are characters that a user of the system, a unit and an image cannot have in their names.
var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// initialize writes files, and says what comes next.
func initialize(dir string, files []output.File, steps string) (report string, err error) {
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
	lines.WriteString(steps)
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
