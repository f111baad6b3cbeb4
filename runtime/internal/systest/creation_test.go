package systest

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func init() { children["creator"] = creatorChild }

// creatorChild opens a file that others create at the same time, and publishes.
func creatorChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.Publish(context.Background(), bus, PlacedType, OrderPlaced{OrderID: "A"})
	check(err)
	say("stored")
	check(bus.Shutdown(context.Background()))
}

func TestProcessesThatCreateAFileAtOnceAllOpenIt(t *testing.T) {
	short.Skip(t, "many processes begin at once")
	for range 60 {
		path := filepath.Join(t.TempDir(), "events.db")
		said := make([][]string, 8)
		var children sync.WaitGroup
		for i := range said {
			children.Go(func() { said[i] = child(t, "creator", path, 0) })
		}
		children.Wait()
		for i, lines := range said {
			if !slices.Contains(lines, "stored") {
				t.Errorf("process %d says %q", i, lines)
			}
		}
		if got := queryFile(t, path, "SELECT count(*) FROM events"); got != "8" {
			t.Fatalf("there are %s events, want one of each process", got)
		}
	}
}
