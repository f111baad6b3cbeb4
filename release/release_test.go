// Package release has what a release is made of. Its tests are of the configuration, and with
// -dist of the archives that were made with it.
package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/short"
)

// configuration is what .goreleaser.yaml may have. goreleaser itself takes minutes to compile, so
// release/snapshot runs it and CI does not: a key that is not here is a mistake, or belongs here.
type configuration struct {
	Version     int
	ProjectName string `yaml:"project_name"`
	Git         struct {
		IgnoreTags []string `yaml:"ignore_tags"`
	}
	Before struct{ Hooks []string }
	Builds []struct {
		Main, Binary                      string
		Env, Goos, Goarch, Flags, Ldflags []string
		ModTimestamp                      string `yaml:"mod_timestamp"`
	}
	Archives []struct {
		NameTemplate    string `yaml:"name_template"`
		Formats         []string
		FormatOverrides []struct {
			Goos    string
			Formats []string
		} `yaml:"format_overrides"`
		BuildsInfo info `yaml:"builds_info"`
		Files      []struct {
			Src, Dst string
			Info     info
		}
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		Algorithm    string
	}
	DockersV2 []struct {
		Dockerfile              string
		Images, Tags, Platforms []string
	} `yaml:"dockers_v2"`
	Changelog struct{ Disable bool }
	Release   struct {
		Draft      bool
		Prerelease string
	}
	Snapshot struct {
		VersionTemplate string `yaml:"version_template"`
	}
}

type info struct{ Mtime string }

func read(t *testing.T) configuration {
	t.Helper()
	text, err := os.ReadFile("../.goreleaser.yaml")
	must(t, err)
	var c configuration
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	must(t, decoder.Decode(&c))
	return c
}

// systems are those that binaries are built for.
func (c configuration) systems() (systems []string) {
	for _, goos := range c.Builds[0].Goos {
		for _, goarch := range c.Builds[0].Goarch {
			systems = append(systems, goos+"/"+goarch)
		}
	}
	return systems
}

func TestTheConfigurationBuildsStaticBinariesForSixSystems(t *testing.T) {
	c := read(t)
	if c.Version != 2 || len(c.Builds) != 1 || len(c.Archives) != 1 || len(c.DockersV2) != 1 {
		t.Fatalf("%+v", c)
	}
	want := "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
	if got := strings.Join(c.systems(), " "); got != want {
		t.Errorf("binaries are built for %s, want %s", got, want)
	}
	build := c.Builds[0]
	if build.Main != "./cmd/busgen" || build.Binary != "busgen" || !slices.Equal(build.Env, []string{"CGO_ENABLED=0"}) || !slices.Contains(build.Flags, "-trimpath") {
		t.Errorf("%+v", build)
	}
	if image := c.DockersV2[0]; strings.Join(image.Platforms, " ") != "linux/amd64 linux/arm64" || image.Dockerfile != "release/Dockerfile" {
		t.Errorf("%+v", image)
	}
	for _, file := range c.Archives[0].Files {
		if generated := strings.HasPrefix(file.Src, "release/out/"); generated {
			continue // by release/extras
		}
		if _, err := os.Stat(filepath.Join("..", file.Src)); err != nil {
			t.Error(err)
		}
	}
}

// The image has the binary that goreleaser puts into the folder of its platform, and nothing else.
func TestTheImageIsMadeFromScratch(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	must(t, err)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	want := []string{"FROM scratch", "ARG TARGETPLATFORM", "COPY ${TARGETPLATFORM}/busgen /busgen", "USER 65532:65532", "WORKDIR /data", `ENTRYPOINT ["/busgen"]`}
	if !slices.Equal(lines, want) {
		t.Errorf("the image is made by %q", lines)
	}
}

// TestTheCommandCompilesForEachSystem has the types of the command checked for each system, with
// all that it imports, which takes seconds where six builds take minutes. CI builds it for two.
func TestTheCommandCompilesForEachSystem(t *testing.T) {
	short.Skip(t, "it is compiled for each")
	for _, system := range read(t).systems() {
		t.Run(system, func(t *testing.T) {
			must(t, compiles("../cmd/busgen", system))
		})
	}
}

// source is a package as go list describes it.
type source struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Standard        bool
	Module          *struct{ Main bool }
	Error           *struct{ Err string }
}

// compiles checks the types of a package and of what it imports, for an operating system and an
// architecture. Functions of other modules are not looked into.
func compiles(folder, system string) error {
	goos, goarch, _ := strings.Cut(system, "/")
	list := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard,Module,Error", ".")
	list.Dir = folder
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	var problems []error
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var s source
		if err := packages.Decode(&s); errors.Is(err, io.EOF) {
			return errors.Join(problems...)
		} else if err != nil {
			return err
		}
		if s.Error != nil {
			problems = append(problems, errors.New(s.Error.Err))
		}
		ours := s.Module != nil && s.Module.Main
		if _, err := os.ReadDir(s.Dir); ours && err != nil { // so go test runs this again when there is a new file
			return err
		}
		var files []*ast.File
		for _, name := range s.GoFiles {
			file, err := parsed(filepath.Join(s.Dir, name), ours)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		config := types.Config{
			Importer: importer{checked, s.ImportMap}, Sizes: types.SizesFor("gc", goarch), IgnoreFuncBodies: !ours,
			FakeImportC: true,
			Error: func(err error) {
				if ours {
					problems = append(problems, err)
				}
			},
		}
		if s.ImportPath == "unsafe" {
			continue
		}
		checked[s.ImportPath], _ = config.Check(s.ImportPath, fset, files, nil)
	}
}

// What was read is kept for the next system: without the functions of other modules, which are large.
var (
	fset = token.NewFileSet()
	kept = map[string]*ast.File{}
)

func parsed(name string, functions bool) (*ast.File, error) {
	if file := kept[name]; file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && !functions {
			function.Body = nil
		}
	}
	kept[name] = file
	return file, nil
}

type importer struct {
	checked map[string]*types.Package
	renamed map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if real := i.renamed[path]; real != "" {
		path = real
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not in the list", path)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
