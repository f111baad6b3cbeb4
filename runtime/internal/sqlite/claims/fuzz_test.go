package claims

import (
	"os"
	"path/filepath"
	"testing"
)

// The file with the claims may have been written by anybody. Whatever is in it, its claims are numbers that a log can look up.
func FuzzTheFileOfSomebodyElse(f *testing.F) {
	path := filepath.Join(f.TempDir(), "claims")
	own := &File{path: path}
	must(f, own.Own())
	must(f, own.Clear(3))
	a, b := own.Reserve(), own.Reserve()
	own.Begin(a, 7, 100, 100, 0)
	own.SetWaiting(a, 100, true)
	own.BeginExpress(b, 7, 300)
	own.BeginAll(7, []Start{{Place: own.Reserve(), Seq: 5, UpTo: 5, Executions: 2}})
	content, err := os.ReadFile(path)
	must(f, err)
	f.Add(content)
	f.Add(content[:len(content)-3])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "claims")
		must(t, os.WriteFile(path, content, 0o600))
		found, process := Left(path)
		if len(found) > len(content)/claimSize {
			t.Errorf("%d bytes have %d claims", len(content), len(found))
		}
		for _, c := range found {
			if c.Subscription <= 0 || c.Running < 0 && c.Running != -c.Running || c.Highest < 0 && c.Highest != -c.Highest {
				t.Errorf("a claim is %+v", c)
			}
		}
		if process.Age < 0 {
			t.Errorf("the process is %+v", process)
		}
	})
}
