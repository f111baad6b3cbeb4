package looks

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

// A browser leaves while its request opens a file of its own, and the page is closed at that moment.
func TestAFileThatIsNotOpenedAfterAllHoldsUpNoClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	bus, err := runtime.Open(t.Context(), path, runtime.NewCatalogue())
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Shutdown(context.Background())
	first, err := inspect.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	synctest.Test(t, func(t *testing.T) {
		f := NewFiles(t.Context(), first)
		if !f.another() {
			t.Fatal("no second file may be opened")
		}
		closed := false
		go func() {
			f.Close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("it does not wait for the second one")
		}
		f.notOpened()
		synctest.Wait()
		if !closed {
			t.Error("it waits although the second one was not opened")
		}
	})
}
