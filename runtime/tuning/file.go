package tuning

import (
	"crypto/sha256"
	"os"
	"time"
)

// A watched file, and what was seen of it.
type watched struct {
	path string
	info os.FileInfo // of the last look that read it; nil if it could not be read
	// young says that the file was written so shortly before that look that it
	// could be written again without another modification time.
	young   bool
	applied [sha256.Size]byte // the content that was taken
	seen    [sha256.Size]byte // the content of the last look
}

// A file system keeps modification times no coarser than this.
const coarsestTime = 2 * time.Second

// look returns the content if it has changed. A patient look takes only what
// was there at the look before: whoever writes the file may not be through with
// it. settled is false while there is reason to look again soon.
func (w *watched) look(patient bool) (content []byte, settled bool, err error) {
	info, err := os.Stat(w.path) // what a symbolic link leads to
	if err == nil && w.same(info) {
		return nil, true, nil
	}
	if err == nil {
		content, err = os.ReadFile(w.path)
	}
	if err != nil {
		w.info = nil
		return nil, false, err
	}
	before := w.seen
	w.seen = sha256.Sum256(content)
	if patient && w.seen != w.applied && w.seen != before {
		return nil, false, nil
	}
	w.info, w.young = info, time.Since(info.ModTime()) < coarsestTime
	if w.seen == w.applied {
		return nil, true, nil
	}
	w.applied = w.seen
	return content, true, nil
}

// same tells whether there is no sign of a change since the last look.
func (w *watched) same(info os.FileInfo) bool {
	return w.info != nil && !w.young && os.SameFile(w.info, info) && w.info.Size() == info.Size() && w.info.ModTime().Equal(info.ModTime())
}
