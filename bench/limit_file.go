package main

import (
	"bytes"
	"os"
	"time"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime/gen/wire"
)

// rowBytes is what a row of the log has besides its payload: id, type and time.
const rowBytes = 16 + 8 + 8

// plainFile appends as many bytes as the rows of the sample have to a file, and syncs it after
// as many of them as a commit has. That is what the disk can do for a log that has nothing
// else: no index, no transaction, no second copy of a page.
type plainFile struct {
	*os.File
	row []byte
}

func newPlainFile(path string) (*plainFile, error) {
	payload, err := wire.NewCodec[events.OrderPlaced]().Encode(sample)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &plainFile{file, make([]byte, rowBytes+len(payload))}, nil
}

// appendFor appends for d, and returns how many rows it was.
func (f *plainFile) appendFor(d time.Duration, rows int) (total int, err error) {
	each := bytes.Repeat(f.row, rows)
	for until := time.Now().Add(d); total == 0 || time.Now().Before(until); total += rows {
		if _, err := f.Write(each); err != nil {
			return total, err
		}
		if err := f.Sync(); err != nil {
			return total, err
		}
	}
	return total, nil
}
