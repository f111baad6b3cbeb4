package conformance

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

func (env *Env) TestTheMetricsAreInTheTextFormatOfPrometheus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Duration(e.Payload.Number) * 30 * time.Millisecond)
			if e.Payload.Number == 2 {
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		f.Handle(`a "quoted" \ name`, func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.InGroup("team"))
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		Must(t, f.PauseSubscription(t.Context(), "team", ""))
		f.Publish(4)
		time.Sleep(time.Minute)

		var text bytes.Buffer
		Must(t, f.WriteMetrics(t.Context(), &text))
		requireExposition(t, text.String())
		want := goldenMetrics
		if *update {
			Must(t, os.WriteFile(filepath.Join("internal", "conformance", "testdata", "metrics.golden"), text.Bytes(), 0o644))
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

func (env *Env) TestTheMetricsOfABusThatWasShutDownAreAnErrorAndNothing(t *testing.T) {
	f := env.Open(t)
	f.Stop()
	var text bytes.Buffer
	if err := f.WriteMetrics(t.Context(), &text); !errors.Is(err, runtime.ErrShutdown) || text.Len() > 0 {
		t.Errorf("the error is %v, want ErrShutdown; %d bytes were written", err, text.Len())
	}
}

func (env *Env) TestAWriterThatFailsFailsTheMetrics(t *testing.T) {
	f := env.Open(t)
	if err := f.WriteMetrics(t.Context(), brokenWriter{}); !errors.Is(err, ErrBoom) {
		t.Errorf("the error is %v, want that of the writer", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, ErrBoom }
