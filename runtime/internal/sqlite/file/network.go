package file

import "path/filepath"

// Network returns the name of the network file system that a file is on, such as "nfs", or "" if
// it is on a local one, if the system does not say, or if the file system may be either. The
// file may not exist yet.
func Network(path string) string { return networkName(filepath.Dir(path)) }
