package runtime_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

var update = flag.Bool("update", false, "write the golden files anew")

//go:embed testdata/metrics.golden
var goldenMetrics string

func TestTheMetricsAreInTheTextFormatOfPrometheus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			time.Sleep(time.Duration(e.Payload.Number) * 30 * time.Millisecond)
			if e.Payload.Number == 2 {
				return errBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		f.handle(`a "quoted" \ name`, func(context.Context, runtime.Event[orderPlaced]) error { return nil }, runtime.InGroup("team"))
		f.start()
		f.publish(1, 2, 3)
		f.idle()
		must(t, f.PauseSubscription(t.Context(), "team"))
		f.publish(4)
		time.Sleep(time.Minute)

		var text bytes.Buffer
		must(t, f.WriteMetrics(t.Context(), &text))
		requireExposition(t, text.String())
		want := goldenMetrics
		if *update {
			must(t, os.WriteFile(filepath.Join("internal", "conformance", "testdata", "metrics.golden"), text.Bytes(), 0o644))
			want = text.String()
		}
		if diff := cmp.Diff(want, text.String()); diff != "" {
			t.Errorf("run go test ./runtime -run Conformance/Metrics -update if this is right:\n%s", diff)
		}
	})
}

// requireExposition checks the rules of the format.
func requireExposition(t *testing.T, text string) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line does not end")
	}
	head := regexp.MustCompile(`^# (HELP|TYPE) (\S+) (.+)$`)
	sample := regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="([^"\\]|\\.)*"(,[a-z]+="([^"\\]|\\.)*")*\})? (\S+)$`)
	kinds, seen, current := map[string]string{}, map[string]bool{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if h := head.FindStringSubmatch(line); h != nil {
			if h[1] == "TYPE" {
				kinds[h[2]], current = h[3], h[2]
			}
			continue
		}
		s := sample.FindStringSubmatch(line)
		if s == nil {
			t.Errorf("neither a comment nor a sample: %s", line)
			continue
		}
		name := s[1]
		if kinds[current] == "histogram" {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		}
		if name != current {
			t.Errorf("%s is not below its own TYPE but that of %s", s[1], current)
		}
		if counter := strings.HasSuffix(name, "_total"); counter != (kinds[name] == "counter") {
			t.Errorf("%s is a %s", name, kinds[name])
		}
		if seen[s[1]+s[2]] {
			t.Errorf("%s is there twice", s[1]+s[2])
		}
		seen[s[1]+s[2]] = true
	}
}

func TestTheMetricsOfABusThatWasShutDownAreAnErrorAndNothing(t *testing.T) {
	f := open(t)
	f.stop()
	var text bytes.Buffer
	if err := f.WriteMetrics(t.Context(), &text); !errors.Is(err, runtime.ErrShutdown) || text.Len() > 0 {
		t.Errorf("the error is %v, want ErrShutdown; %d bytes were written", err, text.Len())
	}
}

func TestAWriterThatFailsFailsTheMetrics(t *testing.T) {
	f := open(t)
	if err := f.WriteMetrics(t.Context(), brokenWriter{}); !errors.Is(err, errBoom) {
		t.Errorf("the error is %v, want that of the writer", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBoom }
