package systest

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func TestAFileKeepsTheKeysOfEventsWithAwaitBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "shop.db")
		open := func() *runtime.Bus {
			bus, err := runtime.Open(t.Context(), path, runtime.NewCatalogue(ScannedType))
			Must(t, err)
			return bus
		}
		const keys = "SELECT group_concat(key || ' ' || seq, ', ') FROM (SELECT key, seq FROM busgen_event_keys ORDER BY seq)"
		bus := open()
		PublishScanned(t, bus, "a") // nobody dispatches
		Must(t, bus.Start(t.Context()))
		PublishScanned(t, bus, "b")
		PublishScanned(t, bus, "")
		Must(t, execFile(path, `INSERT INTO outbox (type, payload) VALUES ('parcel.scanned', '{"order_id":"c"}')`))
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := queryFile(t, path, keys), "a 1, b 2, c 4"; got != want {
			t.Errorf("the keys are %s, want %s", got, want)
		}
		Must(t, bus.Shutdown(t.Context()))
		if got := queryFile(t, path, "SELECT keyed FROM busgen_awaited"); got != "4" {
			t.Errorf("the next process begins behind the event at %s, want 4", got)
		}
	})
}
