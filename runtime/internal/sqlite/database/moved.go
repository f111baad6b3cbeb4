package database

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// HasMoved reports whether an open file, of the database or its write-ahead log, no
// longer is where its name leads. Files in memory are never moved.
func (c *Conn) HasMoved(which sqlite3.FcntlOpcode) bool {
	found, err := c.FileControl("main", which)
	if err != nil {
		return false
	}
	for {
		switch file := found.(type) {
		case vfs.FileHasMoved:
			moved, err := file.HasMoved()
			return err == nil && moved
		case vfs.FileUnwrap: // what the driver puts around a database
			found = file.Unwrap()
		default:
			return false
		}
	}
}
