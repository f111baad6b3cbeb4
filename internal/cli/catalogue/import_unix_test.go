//go:build unix

package catalogue

import (
	"syscall"
	"testing"

	"github.com/busgen/busgen/internal/cli"
)

// A fifo that nobody writes to has no end.
func TestImportReadsRegularFilesOnly(t *testing.T) {
	inFolder(t, nil)
	must(t, syscall.Mkfifo("schema.json", 0o666))
	busgen(t, "import schema.json").WantsErrors(t, cli.StatusTrouble, "busgen: cannot read schema.json: it is a pipe, not a regular file\n")
}
