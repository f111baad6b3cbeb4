package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// axeVersion is what npm fetches.
const axeVersion = "4.10.3"

// axeSource returns the script of axe-core, or nothing, and then says so.
func axeSource(t *testing.T) string {
	t.Helper()
	for _, path := range []string{os.Getenv("AXE"), "/usr/share/nodejs/axe-core/axe.min.js", "/usr/share/javascript/axe-core/axe.min.js"} {
		if text, err := os.ReadFile(path); err == nil {
			return string(text)
		}
	}
	cache, err := os.UserCacheDir()
	must(t, err)
	folder := filepath.Join(cache, "busgen-axe-core-"+axeVersion)
	script := filepath.Join(folder, "package", "axe.min.js")
	if text, err := os.ReadFile(script); err == nil {
		return string(text)
	}
	must(t, os.MkdirAll(folder, 0o755))
	fetch := exec.CommandContext(t.Context(), "npm", "pack", "--silent", "axe-core@"+axeVersion)
	fetch.Dir = folder
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Logf("SKIPPED: there is no axe-core on this machine, and npm cannot fetch it, so accessibility is not tested: %v %s", err, out)
		return ""
	}
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", filepath.Join(folder, "axe-core-"+axeVersion+".tgz"), "-C", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(script)
	must(t, err)
	return string(text)
}
