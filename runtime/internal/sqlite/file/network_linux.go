package file

import "golang.org/x/sys/unix"

// networkNames has the magic numbers of file systems whose locks and shared memory are not, or
// not always, those of one machine. FUSE is not among them: it may be local. Nor is 9P, which is
// how virtual machines and containers mount folders of their host.
var networkNames = map[int64]string{
	unix.NFS_SUPER_MAGIC:   "nfs",
	unix.SMB_SUPER_MAGIC:   "smb",
	unix.CIFS_SUPER_MAGIC:  "cifs",
	unix.SMB2_SUPER_MAGIC:  "smb2",
	unix.AFS_SUPER_MAGIC:   "afs",
	unix.CODA_SUPER_MAGIC:  "coda",
	unix.CEPH_SUPER_MAGIC:  "ceph",
	unix.NCP_SUPER_MAGIC:   "ncp",
	unix.OCFS2_SUPER_MAGIC: "ocfs2",
	0x0bd00bd0:             "lustre",
	0x47504653:             "gpfs",
	0x19830326:             "beegfs",
}

// statfs is replaced by tests.
var statfs = unix.Statfs

func networkName(folder string) string {
	var stat unix.Statfs_t
	if err := statfs(folder, &stat); err != nil {
		return ""
	}
	return networkNames[int64(uint32(stat.Type))]
}
