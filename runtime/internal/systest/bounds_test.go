package systest

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func TestCompactingGivesSpaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t, runtime.WithRetention(time.Minute))
		f.MustStart()
		batch := make([]OrderPlaced, 2000)
		for i := range batch {
			batch[i].OrderID = strings.Repeat("x", 1000)
		}
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch)
		Must(t, err)
		time.Sleep(time.Hour)
		freed, err := f.Compact(t.Context())
		Must(t, err)
		if freed < 1<<20 {
			t.Errorf("%d bytes were freed, want most of two megabytes", freed)
		}
		f.Stop()
		info, err := os.Stat(f.Path)
		Must(t, err)
		if info.Size() > 1<<19 {
			t.Errorf("the file still has %d bytes", info.Size())
		}
	})
}
