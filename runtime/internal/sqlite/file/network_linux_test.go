package file

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestANetworkFileSystemIsNamedAndALocalOneIsNot(t *testing.T) {
	defer func() { statfs = unix.Statfs }()
	for magic, want := range map[int64]string{
		0x6969: "nfs", 0xff534d42: "cifs", -0x00acb2be: "cifs", 0xfe534d42: "smb2", 0xc36400: "ceph",
		0xef53: "", unix.XFS_SUPER_MAGIC: "", unix.BTRFS_SUPER_MAGIC: "", unix.TMPFS_MAGIC: "", unix.OVERLAYFS_SUPER_MAGIC: "", unix.FUSE_SUPER_MAGIC: "",
	} {
		statfs = func(_ string, stat *unix.Statfs_t) error {
			stat.Type = magic
			return nil
		}
		if got := Network("/srv/shop.db"); got != want {
			t.Errorf("%#x is %q, want %q", magic, got, want)
		}
	}
	statfs = func(string, *unix.Statfs_t) error { return errors.New("not now") }
	if got := Network("/srv/shop.db"); got != "" {
		t.Errorf("without an answer it is %q", got)
	}
	statfs = unix.Statfs
	if got := Network(t.TempDir() + "/shop.db"); got != "" {
		t.Errorf("the folder of the test is on %q", got)
	}
}
