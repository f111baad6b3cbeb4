package servertest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// CutAfter takes from the folder of a server that does not run what it has stored behind a message of a stream, as a
// power cut does with what was not synced.
func CutAfter(dir string, seq uint64) error {
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		return fmt.Errorf("there are no messages in %s: %v", dir, err)
	}
	slices.SortFunc(blocks, func(a, b string) int { return len(a) - len(b) })
	block := blocks[len(blocks)-1]
	if err := os.Remove(filepath.Join(filepath.Dir(block), "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := os.ReadFile(block)
	if err != nil {
		return err
	}
	// A record begins with its length, whose first bit says that it has a header, and its number, whose first bits say
	// that it is deleted.
	for at := 0; at+12 <= len(data); {
		length := int(binary.LittleEndian.Uint32(data[at:]) &^ (1 << 31))
		if number := binary.LittleEndian.Uint64(data[at+4:]); number == seq {
			return os.Truncate(block, int64(at+length))
		}
		at += length
	}
	return fmt.Errorf("message %d is not in %s", seq, block)
}
