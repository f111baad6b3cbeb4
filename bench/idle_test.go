package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
)

func TestIdleBusesAreMeasured(t *testing.T) {
	short.Visit(t, "it measures")
	dir := t.TempDir()
	code, stdout, stderr := bench(t.Context(), dir, "-idle", "3", "-time", "100ms", "-json")
	var r idle
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if r.Buses != 3 || r.Goroutines < 1 || r.Heap <= 0 {
		t.Errorf("not a measurement: %s", stdout)
	}
	requireEmpty(t, dir)

	code, stdout, stderr = bench(t.Context(), dir, "-idle", "1", "-time", "1ms")
	if code != 0 || !strings.Contains(stdout, "1 idle buses") || !strings.Contains(stdout, "goroutines") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
