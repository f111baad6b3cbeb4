package systest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

var makeFormat = flag.Bool("formats.make", false, "make the file of the current format, if there is none")

// parcel is the payload of the files that are kept.
type parcel struct {
	Number int `json:"number"`
}

func (parcel) Validate() error { return nil }

// formatsBus opens a bus with two subscriptions, whose handlers call handle.
func formatsBus(t *testing.T, path string, handle func(subscription string, e runtime.Event[parcel]) error) *runtime.Bus {
	t.Helper()
	settings := declare.DefaultSettings()
	settings.Retry = settings.Retry.With(retry.MaxAttempts(3), retry.BaseDelay(2*time.Second))
	sent := runtime.Define(runtime.Spec[parcel]{Name: "parcel.sent", Settings: settings})
	bus, err := runtime.Open(t.Context(), path, runtime.NewCatalogue(sent),
		runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithRetention(runtime.Forever))
	Must(t, err)
	for _, name := range []string{"ship", "count"} {
		_, err := runtime.Subscribe(bus, sent, name, func(_ context.Context, e runtime.Event[parcel]) error { return handle(name, e) })
		Must(t, err)
	}
	formatsPublish = func(number int, opts ...runtime.PublishOption) {
		t.Helper()
		_, err := runtime.Publish(t.Context(), bus, sent, parcel{number}, opts...)
		Must(t, err)
	}
	return bus
}

// formatsPublish publishes to the bus that was opened last.
var formatsPublish func(number int, opts ...runtime.PublishOption)

// TestFilesOfAllFormatsAreOpened opens a file of each format that was released, as its version of
// busgen left it, and goes on with it. The files have parcels that are handled (1, 4), one that
// is dead for ship (2), one that waits there for its second attempt (3), and those that were
// published while no bus was started (5, and 6 with a delay). count has handled 1 to 4.
func TestFilesOfAllFormatsAreOpened(t *testing.T) {
	current := fmt.Sprintf("testdata/format-%d.sqlite", inspect.FileFormat)
	if _, err := os.Stat(current); errors.Is(err, os.ErrNotExist) && *makeFormat {
		makeFormatFile(t, current)
	} else if err != nil {
		t.Fatalf("no file of the current format is kept: go test ./runtime/internal/systest -run %s -formats.make makes it (%v)", t.Name(), err)
	}
	files, err := filepath.Glob("testdata/format-*.sqlite")
	Must(t, err)
	for _, kept := range files {
		t.Run(filepath.Base(kept), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shop.db")
			text, err := os.ReadFile(kept)
			Must(t, err)
			Must(t, os.WriteFile(path, text, 0o600))
			if kept != current { // who only looks does not upgrade it
				Must(t, formatsBus(t, path, nil).Shutdown(t.Context()))
			}
			lookAtFormat(t, path)
			goOnWithFormat(t, path)
		})
	}
}

// lookAtFormat inspects the file as it was left.
func lookAtFormat(t *testing.T, path string) {
	t.Helper()
	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer file.Close()
	status, err := file.Status(t.Context())
	Must(t, err)
	if status.Events != 6 || status.DeadLetters != 1 || len(status.Subscriptions) != 2 {
		t.Errorf("%d events, %d dead letters, %v", status.Events, status.DeadLetters, status.Subscriptions)
	}
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	if len(letters) != 1 || letters[0].Reason != "permanent" || letters[0].Subscription != "ship" || string(letters[0].Payload) != `{"number":2}` ||
		letters[0].LastAttempt().Error != "no such street" || string(letters[0].Metadata) != `{"ticket":"T-2"}` {
		t.Errorf("dead letters: %+v", letters)
	}
	report, err := file.Check(t.Context(), nil)
	Must(t, err)
	if !report.OK() || report.Dead != 1 {
		t.Errorf("check: %+v", report)
	}
}

// goOnWithFormat retries what is dead, and handles everything that is open.
func goOnWithFormat(t *testing.T, path string) {
	t.Helper()
	var mu sync.Mutex
	handled := map[string]int{}
	bus := formatsBus(t, path, func(subscription string, e runtime.Event[parcel]) error {
		mu.Lock()
		defer mu.Unlock()
		handled[fmt.Sprintf("%s %d, attempt %d", subscription, e.Payload.Number, e.Attempt)]++
		return nil
	})
	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	if counts, err := file.Retry(t.Context(), inspect.Selection{}); err != nil || counts.Matched != 1 {
		t.Errorf("retry: %+v, %v", counts, err)
	}
	Must(t, file.Close())
	Must(t, bus.Start(t.Context()))
	Must(t, bus.WaitIdle(t.Context()))
	formatsPublish(7)
	Must(t, bus.WaitIdle(t.Context()))
	Must(t, bus.Shutdown(t.Context()))
	got := slices.Sorted(maps.Keys(handled))
	want := []string{
		"count 5, attempt 1", "count 6, attempt 1", "count 7, attempt 1",
		"ship 2, attempt 2", "ship 3, attempt 2", "ship 5, attempt 1", "ship 6, attempt 1", "ship 7, attempt 1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("handled\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for what, times := range handled {
		if times != 1 {
			t.Errorf("%s: %d times", what, times)
		}
	}
	after, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer after.Close()
	report, err := after.Check(t.Context(), nil)
	Must(t, err)
	status, err := after.Status(t.Context())
	Must(t, err)
	if !report.OK() || report.Open != 0 || report.Dead != 0 || status.Schema != inspect.FileFormat {
		t.Errorf("afterwards: %+v, format %d", report, status.Schema)
	}
}

// makeFormatFile makes what TestFilesOfAllFormatsAreOpened describes.
func makeFormatFile(t *testing.T, kept string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	var first sync.WaitGroup // attempts of four parcels by both
	first.Add(8)
	bus := formatsBus(t, path, func(subscription string, e runtime.Event[parcel]) error {
		defer first.Done()
		if subscription == "count" {
			return nil
		}
		switch e.Payload.Number {
		case 2:
			return runtime.Permanent(errors.New("no such street"))
		case 3:
			return errors.New("the van is full")
		}
		return nil
	})
	for number := 1; number <= 4; number++ {
		formatsPublish(number, runtime.WithMetadata(map[string]string{"ticket": fmt.Sprintf("T-%d", number)}), runtime.WithDedupeKey(fmt.Sprint("parcel ", number)))
	}
	Must(t, bus.Start(t.Context()))
	first.Wait()
	Must(t, bus.Shutdown(t.Context()))
	bus = formatsBus(t, path, func(string, runtime.Event[parcel]) error { return errors.New("nothing was started") })
	formatsPublish(5)
	formatsPublish(6, runtime.WithDelay(2*time.Second))
	Must(t, bus.Shutdown(t.Context()))
	absolute, err := filepath.Abs(kept)
	Must(t, err)
	db, err := sqlite3.Open("file:" + path)
	Must(t, err)
	Must(t, db.Exec("VACUUM INTO '"+absolute+"'"))
	Must(t, db.Close())
}
