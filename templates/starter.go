package templates

import (
	"embed"
	"path"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/output"
)

var (
	//go:embed starter/events.yaml
	starterCatalogue string
	//go:embed starter/generate.go.txt
	starterGenerate string
	//go:embed starter/service
	starterService embed.FS
)

// AttributesFile is the file that tells git how to merge the record of types, and Attributes is its content.
const (
	AttributesFile = ".gitattributes"
	Attributes     = "wire.golden merge=union\n"
)

// starterPackage is the name of the package in the embedded starter files.
const starterPackage = "events"

// Starter returns the files of `busgen init` for a package of the given name:
// a catalogue that explains its own language, the Go file that makes
// `go generate` run busgen, and the attributes of files for git.
func Starter(packageName string) []output.File {
	rename := strings.NewReplacer(
		"package: "+starterPackage, "package: "+packageName,
		"package "+starterPackage+"\n", "package "+packageName+"\n",
		"Package "+starterPackage+" ", "Package "+packageName+" ",
	)
	return []output.File{
		{Name: "events.yaml", Content: []byte(rename.Replace(starterCatalogue))},
		{Name: "generate.go", Content: []byte(rename.Replace(starterGenerate))},
		{Name: AttributesFile, Content: []byte(Attributes)},
	}
}

// Service returns the files of `busgen init --service`: a small program with HTTP, handlers, tests, and what brings it to
// a server. Its package has an import path, and name is what the program is called: small letters, digits and hyphens.
func Service(importPath, name string) []output.File {
	fill := strings.NewReplacer("MODULE", importPath, "NAME", name)
	files := []output.File{
		{Name: "events/generate.go", Content: []byte(starterGenerate)},
		{Name: AttributesFile, Content: []byte(Attributes)},
	}
	for from, to := range map[string]string{
		"events.yaml": "events/events.yaml", "main.go.txt": "main.go", "handlers.go.txt": "handlers.go", "http.go.txt": "http.go",
		"service_test.go.txt": "service_test.go", "Dockerfile.txt": "Dockerfile", "unit.txt": name + ".service",
	} {
		content, err := starterService.ReadFile(path.Join("starter/service", from))
		if err != nil {
			panic(err) // it is embedded
		}
		files = append(files, output.File{Name: to, Content: []byte(fill.Replace(string(content)))})
	}
	slices.SortFunc(files, func(a, b output.File) int { return strings.Compare(a.Name, b.Name) })
	return files
}
