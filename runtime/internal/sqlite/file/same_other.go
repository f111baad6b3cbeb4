//go:build !unix

package file

import "os"

func leadsTo(path string, before os.FileInfo) (same bool, err error) {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, before), err
}
