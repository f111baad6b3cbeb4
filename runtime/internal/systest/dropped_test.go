package systest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// told is a logger's output that says when a bus was dropped.
type told chan string

func (c told) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "dropped without Shutdown") {
		c <- string(line)
	}
	return len(line), nil
}

func openTold(t *testing.T, path string) (*runtime.Bus, told) {
	t.Helper()
	c := make(told, 10)
	bus, err := runtime.Open(t.Context(), path, Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(c, nil))))
	Must(t, err)
	return bus, c
}

// collect runs the garbage collector until a bus was dropped. What is not dropped by
// then is referred to.
func (c told) collect(t *testing.T) string {
	t.Helper()
	for range 2000 {
		goruntime.GC()
		select {
		case line := <-c:
			return line
		default:
			goruntime.Gosched()
		}
	}
	t.Fatal("the bus is not collected")
	return ""
}

func TestABusThatIsDroppedWithoutShutdownIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	said := func() told {
		bus, said := openTold(t, path)
		_, err := runtime.Subscribe(bus, PlacedType, "reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		Must(t, err)
		_, err = runtime.Publish(t.Context(), bus, PlacedType, OrderPlaced{OrderID: "A"})
		Must(t, err)
		return said
	}()
	if line := said.collect(t); !strings.Contains(line, path) || !strings.Contains(line, "level=WARN") {
		t.Errorf("the log says %s", line)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the file is still open: its write-ahead log is there")
	}
	if n := queryFile(t, path, "SELECT count(*) FROM events"); n != "1" {
		t.Errorf("%s events are stored, want the one that was published", n)
	}
}

// A bus lives as long as a receipt of it, or a handler; and once it was shut down
// nothing is left to say.
func TestABusThatIsUsedIsNotClosed(t *testing.T) {
	folder := t.TempDir()
	publish := func(name string) (*runtime.Receipt, told) {
		bus, said := openTold(t, filepath.Join(folder, name))
		r, err := runtime.Publish(t.Context(), bus, UserType, UserCreated{Name: "Ada"})
		Must(t, err)
		return r, said
	}
	receipt, ofReceipt := publish("receipt.db")

	handled := make(chan int, 1)
	started := func() told {
		bus, said := openTold(t, filepath.Join(folder, "started.db"))
		_, err := runtime.Subscribe(bus, PlacedType, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			handled <- e.Payload.Number
			if e.Payload.Number == 2 {
				// In another goroutine, because it waits for this handler.
				go func() { handled <- len([]any{bus.Shutdown(context.Background())}) }()
			}
			return nil
		})
		Must(t, err)
		Must(t, bus.Start(t.Context()))
		return said
	}()
	publisher, _ := openTold(t, filepath.Join(folder, "started.db"))
	defer publisher.Shutdown(context.Background())

	shut := func() told {
		bus, said := openTold(t, filepath.Join(folder, "shut.db"))
		Must(t, bus.Shutdown(t.Context()))
		return said
	}()

	_, dropped := publish("dropped.db")
	dropped.collect(t)
	goruntime.GC()
	_, err := receipt.Wait(t.Context())
	Must(t, err)
	for n := 1; n <= 2; n++ {
		_, err := runtime.Publish(t.Context(), publisher, PlacedType, OrderPlaced{OrderID: "A", Number: n})
		Must(t, err)
		if got := <-handled; got != n {
			t.Errorf("order %d was handled, want %d", got, n)
		}
	}
	<-handled // it is shut down
	for name, said := range map[string]told{"receipt": ofReceipt, "started": started, "shut": shut} {
		select {
		case line := <-said:
			t.Errorf("%s: %s", name, line)
		default:
		}
	}
	goruntime.KeepAlive(receipt)
}
