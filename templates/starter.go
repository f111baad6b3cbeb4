package templates

import (
	_ "embed"
	"strings"

	"github.com/busgen/busgen/internal/output"
)

var (
	//go:embed starter/events.yaml
	starterCatalogue string
	//go:embed starter/generate.go.txt
	starterGenerate string
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
