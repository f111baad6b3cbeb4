package database

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// CopyTo writes everything that the connection sees into a new file. like is a file whose
// mode and owner the new one gets; nil for those of a new file. The file appears when it is complete and on the disk.
// damage says what is wrong with it; nil if it is sound.
func (c *Conn) CopyTo(path string, like os.FileInfo) (damage, err error) {
	partial := path + ".partial"
	damage, err = c.copyTo(partial, like)
	if err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		os.Remove(partial)
		return nil, err
	}
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		folder.Sync()
		folder.Close()
	}
	return damage, nil
}

func (c *Conn) copyTo(path string, like os.FileInfo) (damage, err error) {
	made, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	if like != nil {
		if err := file.GiveTo(made, like); err != nil {
			return nil, err
		}
	}
	if err := c.Backup("main", uri(path, "", sqlite3.OPEN_READWRITE)); err != nil {
		return nil, c.disk.explain(err)
	}
	copied, err := sqlite3.OpenFlags(uri(path, "", sqlite3.OPEN_READWRITE), sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	damage = sound(copied)
	err = copied.Exec("PRAGMA journal_mode=DELETE") // nothing lies beside it
	if damage != nil {
		err = nil
	}
	return damage, errors.Join(err, copied.Close(), made.Sync())
}

// sound returns an error for a database that is damaged.
func sound(c *sqlite3.Conn) error {
	s, _, err := c.Prepare("PRAGMA quick_check(1)")
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Step() && s.ColumnText(0) != "ok" {
		return errors.New(s.ColumnText(0))
	}
	return s.Err()
}
