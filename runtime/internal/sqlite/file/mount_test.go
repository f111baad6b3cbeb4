package file

import (
	"path/filepath"
	"testing"
)

func TestAnUnmountLeavesALaterMountAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	first := Mount(path, "first")
	second := Mount(path, "second")
	first()
	if got := Mounted(path); got != "second" {
		t.Errorf("it is at %q", got)
	}
	second()
	if got := Mounted(path); got != "" {
		t.Errorf("it is at %q", got)
	}
}
