package sqlite

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileOnANetworkFileSystemIsOpenedWithAWarning(t *testing.T) {
	before := network
	defer func() { network = before }()
	for name, want := range map[string]string{
		"nfs": `level=WARN msg="the file is on a network file system, where it can be damaged; move it to a local disk"`, "": "",
	} {
		network = func(string) string { return name }
		var logged bytes.Buffer
		log, err := Open(filepath.Join(t.TempDir(), "shop.db"), Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		must(t, err)
		must(t, log.Close())
		if got := logged.String(); strings.Contains(got, "network") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("on %q it logs %q", name, got)
		}
	}
}
