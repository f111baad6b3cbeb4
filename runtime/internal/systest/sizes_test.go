package systest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// text is a payload of any size.
type text struct {
	Text string `json:"text"`
}

func (text) Validate() error { return nil }

// docs/deploying.md says how large a file is for what is in it. The numbers are measured here, and
// may differ from the page by a tenth.
func TestTheFileIsAsLargeAsTheGuideSays(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	page, err := os.ReadFile("../../../docs/deploying.md")
	Must(t, err)
	fails := func(context.Context, runtime.Event[text]) error {
		return errors.New("the provider does not answer: timeout")
	}
	works := func(context.Context, runtime.Event[text]) error { return nil }
	const events = 5000
	handled := sizePerEvent(t, events, 200, works)
	for row, bytes := range map[string]int{
		"an event with a payload of 200 bytes, handled by one subscription":  handled,
		"one with a payload of 1,000 bytes":                                  sizePerEvent(t, events, 1000, works),
		"what a dead letter adds, with four attempts and a short error each": sizePerEvent(t, 1000, 200, fails) - handled,
	} {
		found := regexp.MustCompile(`\| ` + regexp.QuoteMeta(row) + ` \| ([\d,]+) bytes \|`).FindSubmatch(page)
		if found == nil {
			t.Errorf("docs/deploying.md has no row %q: it is %d bytes", row, bytes)
			continue
		}
		said, err := strconv.Atoi(strings.ReplaceAll(string(found[1]), ",", ""))
		Must(t, err)
		if diff := bytes - said; 10*max(diff, -diff) > said {
			t.Errorf("%s: docs/deploying.md says %d bytes, and it is %d", row, said, bytes)
		}
	}
}

// sizePerEvent returns by how much a file grows for each of n events with a payload of that many
// bytes of JSON.
func sizePerEvent(t *testing.T, n, payload int, handler func(context.Context, runtime.Event[text]) error) int {
	t.Helper()
	settings := declare.DefaultSettings()
	settings.Retry = settings.Retry.With(retry.WithBackoff(retry.None))
	settings.Breaker.Off = true
	sent := runtime.Define(runtime.Spec[text]{Name: "text.sent", Settings: settings})
	path := filepath.Join(t.TempDir(), "shop.db")
	size := func() int {
		info, err := os.Stat(path)
		Must(t, err)
		return int(info.Size())
	}
	batch := make([]text, n)
	for i := range batch {
		batch[i].Text = strings.Repeat("x", payload-len(`{"text":""}`))
	}
	before := 0
	for _, payloads := range [][]text{batch[:1], batch} {
		before = 0
		if info, err := os.Stat(path); err == nil {
			before = int(info.Size())
		}
		bus, err := runtime.Open(t.Context(), path, runtime.NewCatalogue(sent), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		Must(t, err)
		_, err = runtime.Subscribe(bus, sent, "read", handler, runtime.WithConcurrency(64))
		Must(t, err)
		_, err = runtime.PublishBatch(t.Context(), bus, sent, payloads)
		Must(t, err)
		Must(t, bus.Start(t.Context()))
		Must(t, bus.WaitIdle(t.Context()))
		Must(t, bus.Shutdown(t.Context()))
	}
	return (size() - before) / n
}
