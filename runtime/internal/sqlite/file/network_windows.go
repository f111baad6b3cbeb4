package file

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

func networkName(folder string) string {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return ""
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(absolute) + `\`)
	if err != nil || windows.GetDriveType(root) != windows.DRIVE_REMOTE {
		return ""
	}
	return "a network drive"
}
