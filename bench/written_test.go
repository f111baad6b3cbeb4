package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
)

func TestWhatIsWrittenIsMeasuredForEveryWayToPublish(t *testing.T) {
	short.Visit(t, "it measures")
	dir := t.TempDir()
	code, stdout, stderr := bench(t.Context(), dir, "-written", "-json", "-events", "2000")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	lines := 0
	for text := range strings.Lines(stdout) {
		var r written
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines++
		// An event has 200 bytes of payload, its id twice, and a few bytes more.
		if r.Disk < 200 || r.Disk > 450 || bytesWritten() > 0 && r.Wrote < 2*200 {
			t.Errorf("not a measurement: %s", text)
		}
	}
	if want := 2 * len(waysToPublish); lines != want {
		t.Errorf("%d lines, want %d:\n%s", lines, want, stdout)
	}
	requireEmpty(t, dir)
}
