package file

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
)

// A note takes the place of the write-ahead log of a file that was moved away or deleted while a
// program used it. It says what has become of the file. SQLite takes it for a log without content,
// so whatever file comes to its place is read as it is. And a bus begins no new file beside it.

// noteMark is what a note begins with. A write-ahead log never does.
const noteMark = "busgen: "

// noteLimit is how long a note may be.
const noteLimit = 4 << 10

// LeaveNote writes a note beside the file at path, in place of its write-ahead log. like is a file whose mode
// and owner it gets.
func LeaveNote(path, text string, like os.FileInfo) error {
	if len(text) > noteLimit {
		text = strings.ToValidUTF8(text[:noteLimit], "")
	}
	name := path + WALSuffix + "-note"
	note, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = note.WriteString(noteMark + text + "\n")
	err = cmp.Or(err, GiveTo(note, like), note.Sync())
	if err = errors.Join(err, note.Close()); err == nil {
		err = os.Rename(name, path+WALSuffix)
	}
	if err != nil {
		os.Remove(name)
	}
	return err
}

// Note returns what the note beside the file at path says, or "" if there is none.
func Note(path string) string {
	note, err := os.Open(path + WALSuffix)
	if err != nil {
		return ""
	}
	defer note.Close()
	text, _ := io.ReadAll(io.LimitReader(note, int64(len(noteMark)+noteLimit+1)))
	said, is := strings.CutPrefix(string(text), noteMark)
	if !is {
		return ""
	}
	return strings.TrimSpace(said)
}
