package watch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/input"
)

// What is not read cannot be told from outside, except by a change that leaves
// no sign.
func TestAFileIsReadOnlyIfThereIsASignOfAChange(t *testing.T) {
	old, young := time.Now().Add(-time.Hour), time.Now()
	for name, tt := range map[string]struct {
		before  time.Time
		change  func(t *testing.T, path string)
		noticed bool
	}{
		"another time":                         {old, func(t *testing.T, path string) { write(t, path, "after!", old.Add(1)) }, true},
		"another size":                         {old, func(t *testing.T, path string) { write(t, path, "after", old) }, true},
		"another file":                         {old, func(t *testing.T, path string) { replace(t, path, "after!", old) }, true},
		"no sign":                              {old, func(t *testing.T, path string) { write(t, path, "after!", old) }, false},
		"no sign, but it was written just now": {young, func(t *testing.T, path string) { write(t, path, "after!", young) }, true},
		"another time for the same content":    {old, func(t *testing.T, path string) { write(t, path, "before", young) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			write(t, path, "before", tt.before)
			w := New(path)
			if changed, settled, err := w.Look(false); changed == nil || !settled || err != nil {
				t.Fatalf("the first look: %v, %v, %v", changed, settled, err)
			}
			if changed, settled, err := w.Look(true); changed != nil || !settled || err != nil {
				t.Fatalf("the second look: %v, %v, %v", changed, settled, err)
			}
			tt.change(t, path)
			changed, settled, err := w.Look(true)
			if changed != nil || settled == tt.noticed || err != nil {
				t.Errorf("the look after the change: %v, %v, %v", changed, settled, err)
			}
			changed, _, err = w.Look(true)
			if (changed != nil) != tt.noticed || err != nil {
				t.Errorf("the look after that: %v, %v", changed, err)
			}
		})
	}
}

func write(t *testing.T, path, text string, modified time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, modified, modified); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path, text string, modified time.Time) {
	t.Helper()
	write(t, path+".new", text, modified)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.yaml")
	write(t, path, "", time.Now())
	if err := os.Truncate(path, parse.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	var large *input.TooLargeError
	if _, err := Read(path); !errors.As(err, &large) {
		t.Errorf("reading a file of more than %d bytes: %v", parse.MaxFile, err)
	}
}
