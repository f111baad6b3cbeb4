package database

import (
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// gathering is what a commit writes to the write-ahead log, until its sync.
//
// SQLite writes the head of a page and the page by themselves, one call of the operating
// system each. Nobody reads what a commit has written before it is synced: only then SQLite
// adds it to the index of the log. So all of it can be written at once.
//
// That is so for commits with synchronous=FULL. Without it, no call tells that the index
// comes next.
type gathering struct {
	on   bool
	text *[]byte // what is to be written; it ends where the log does. Nil for nothing
}

const (
	// gatheredBytes is how much is written at once at most.
	gatheredBytes = 256 << 10
	// logHead is the size of the head of a write-ahead log, which has a sync of its own: what
	// follows must not be on the disk before it.
	logHead = 32
)

var gatheredTexts = sync.Pool{New: func() any { return new([]byte) }}

// gather lets what a commit writes wait for its sync.
func (d *disk) gather() { d.gathering.on = true }

// endGathering is called after the commit, with its error. What still waits then was never to be seen, because the
// commit has failed before its sync.
func (d *disk) endGathering(err error) error {
	d.gathering.on = false
	if err == nil && d.log != nil {
		err = d.log.writeGathered() // nothing, unless SQLite does without the sync
	}
	d.dropGathered()
	return err
}

func (d *disk) dropGathered() {
	if text := d.gathering.text; text != nil {
		*text = (*text)[:0]
		gatheredTexts.Put(text)
		d.gathering.text = nil
	}
}

// writeLog writes to the write-ahead log, or gathers what is to be written.
func (f *diskFile) writeLog(p []byte, off int64) (n int, err error) {
	d := f.disk
	g := &d.gathering
	if g.text != nil && (off != d.logEnd || len(*g.text)+len(p) > gatheredBytes) {
		if err := f.writeGathered(); err != nil {
			return 0, err
		}
	}
	if n = len(p); g.on && n <= gatheredBytes {
		if g.text == nil {
			g.text = gatheredTexts.Get().(*[]byte)
		}
		*g.text = append(*g.text, p...)
	} else {
		n, err = f.File.WriteAt(p, off)
	}
	d.logEnd = off + int64(n)
	if off < d.logSynced {
		d.logSynced = 0 // the log begins anew
	}
	if err != nil {
		err = d.fail(err, sqlite3.IOERR_WRITE)
	}
	return n, err
}

// writeGathered writes what f has gathered, if it is the write-ahead log. Everything that asks for the content of
// the file, or for its size, calls it before.
func (f *diskFile) writeGathered() error {
	d := f.disk
	if f != d.log || d.gathering.text == nil {
		return nil
	}
	text := *d.gathering.text
	_, err := f.File.WriteAt(text, d.logEnd-int64(len(text)))
	d.dropGathered()
	if err != nil {
		err = d.fail(err, sqlite3.IOERR_WRITE)
	}
	return err
}
