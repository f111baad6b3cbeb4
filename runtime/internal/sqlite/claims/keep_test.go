package claims

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The file that was made again is known as well as the first one.
func TestClaimsAreMadeAgainEachTimeThatTheyAreDeletedAndNotOtherwise(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there an open file cannot be deleted")
	}
	path := filepath.Join(t.TempDir(), "events.db")
	must(t, os.WriteFile(path, nil, 0o600))
	c, err := Open(path, "")
	must(t, err)
	defer c.Close()
	must(t, c.Own())
	defer c.Release()
	must(t, c.Clear(1))
	c.Begin(c.Reserve(), 7, 42, 42, 0)
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for n := range 3 {
		if n == 1 {
			must(t, os.Rename(path+"-claims", path+"-moved"))
		} else {
			must(t, os.Remove(path+"-claims"))
		}
		for range 3 {
			c.Keep(logger)
		}
		if found, _ := Left(path + "-claims"); len(found) != 1 || found[0].Running != 42 {
			t.Errorf("after deletion %d the claims are %v", n, found)
		}
		if got := strings.Count(log.String(), "they are restored"); got != n+1 || strings.Contains(log.String(), "cannot") {
			t.Fatalf("after deletion %d the log says %d times that they are restored:\n%s", n, got, log.String())
		}
	}
}
