//go:build unix

package main

import (
	"syscall"
	"testing"
)

// A fifo that nobody writes to has no end.
func TestImportReadsRegularFilesOnly(t *testing.T) {
	inFolder(t, nil)
	must(t, syscall.Mkfifo("schema.json", 0o666))
	busgen(t, "import jsonschema schema.json").wantsErrors(t, statusTrouble, "busgen: cannot read schema.json: it is a pipe, not a regular file\n")
}
