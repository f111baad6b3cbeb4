package file

import (
	"errors"
	"io"
	"os"
)

// The files that lie beside the log: SQLite's write-ahead log and its index, and
// our claims.
const (
	WALSuffix    = "-wal"
	IndexSuffix  = "-shm"
	ClaimsSuffix = "-claims"
)

// Prepare makes the files that SQLite needs beside a log before SQLite does:
// those of root, and those of a user with another mask, must be open to whoever
// the log is open to.
func Prepare(path string) error {
	if !isLog(path) {
		return nil // nothing is left beside what is not ours
	}
	return errors.Join(CreateBeside(path, WALSuffix), CreateBeside(path, IndexSuffix))
}

// UsesWAL tells whether the database at path has a write-ahead log, by its first bytes.
func UsesWAL(path string) bool {
	header, err := headerOf(path)
	return err == nil && header[usesWAL] == 2
}

// isLog tells whether the file at path is an event log, by its first bytes.
func isLog(path string) bool {
	header, err := headerOf(path)
	return err == nil && header[usesWAL] == 2 && string(header[id:id+4]) == "busg"
}

// usesWAL and id are where the header of a database has these.
const usesWAL, id = 18, 68

func headerOf(path string) (header [100]byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return header, err
	}
	defer file.Close()
	_, err = io.ReadFull(file, header[:])
	return header, err
}
