package main

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
)

func TestTheGrowthOfEveryOperationIsReportedInEveryDimension(t *testing.T) {
	short.Skip(t, "each operation is measured at three sizes of six files")
	dir := t.TempDir()
	code, stdout, stderr := bench(t.Context(), dir, "-growth", "-short", "-json", "-events", "3000")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	reported := map[string][]string{}
	for text := range strings.Lines(stdout) {
		var line growthLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		reported[line.Dimension] = append(reported[line.Dimension], line.Operation)
		if len(line.Sizes) != 3 || len(line.Milliseconds) != 3 || !slices.IsSorted(line.Sizes) || math.IsNaN(line.Exponent) {
			t.Errorf("not a measurement: %s", text)
		}
	}
	for _, d := range dimensions {
		for _, o := range operations {
			if o.name != "prune" && !slices.Contains(reported[d.name], o.name) {
				t.Errorf("%s: nothing is said about %s", d.name, o.name)
			}
		}
	}
	requireEmpty(t, dir)
}

func TestTheTableOfGrowthSaysWhatWasMeasured(t *testing.T) {
	short.Skip(t, "it measures")
	code, stdout, stderr := bench(t.Context(), t.TempDir(), "-growth", "-short", "-events", "3000", "-case", "types")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, part := range []string{"types: event types", "\n  handle ", "exponent", "cores"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the table should say %q:\n%s", part, stdout)
		}
	}
	if strings.Contains(stdout, "retries:") {
		t.Errorf("only one dimension was asked for:\n%s", stdout)
	}
}

func TestAnExponentSaysHowADurationGrows(t *testing.T) {
	sizes := []int{10, 100, 1000}
	for name, test := range map[string]struct {
		took []time.Duration
		want float64
	}{
		"it does not":          {[]time.Duration{5, 5, 5}, 0},
		"in proportion":        {[]time.Duration{70, 700, 7000}, 1},
		"with its square":      {[]time.Duration{1e2, 1e4, 1e6}, 2},
		"with its square root": {[]time.Duration{1e6, 3162278, 1e7}, 0.5},
	} {
		if got := exponent(sizes, test.took); math.Abs(got-test.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestFilesOfGrowthHaveWhatTheySay(t *testing.T) {
	for _, d := range dimensions {
		path := t.TempDir() + "/bus.db"
		must(t, d.grow(t.Context(), path, 25))
		rows, err := rowsOf(path)
		must(t, err)
		switch d.name {
		case "events", "backlog":
			must(t, d.grow(t.Context(), path, 40))
			if events, err := eventsIn(path); events != 40 || err != nil {
				t.Errorf("%s: %d events, want 40 (%v)", d.name, events, err)
			}
		case "retries", "dead-letters":
			if rows["busgen_deliveries"] != 25 || rows["busgen_attempts"] != 25 {
				t.Errorf("%s: the file has the rows %v, want 25 deliveries and attempts", d.name, rows)
			}
			if causes := causesIn(t, path); d.name == "dead-letters" && (causes < 10 || causes > 11) {
				t.Errorf("%s: there are %d causes, want ten, and perhaps that of the first one", d.name, causes)
			}
		}
	}
}

func causesIn(t *testing.T, path string) (causes int) {
	conn, err := sqlite3.Open(path)
	must(t, err)
	defer conn.Close()
	must(t, query(conn, "SELECT count(DISTINCT fingerprint) FROM busgen_deliveries", func(s *sqlite3.Stmt) { causes = s.ColumnInt(0) }))
	return causes
}
