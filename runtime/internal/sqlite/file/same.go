package file

import (
	"errors"
	"io/fs"
	"os"
)

// IsSame reports whether path still leads to the file that before describes. What cannot
// be found out is taken for a yes. An open file stays the one that it is, so whoever keeps
// its description asks the system once, for what the name leads to.
func IsSame(path string, before os.FileInfo) bool {
	same, err := leadsTo(path, before)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return same
}
