package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/short"
)

// TestMain lets the test binary be the process that recover-100 kills.
func TestMain(m *testing.M) {
	beChild()
	os.Exit(m.Run())
}

// bench runs the command on files in dir.
func bench(ctx context.Context, dir string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-dir", dir}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func allNames() (names []string) {
	for _, c := range cases {
		names = append(names, c.name)
	}
	return names
}

// extras names the figures that cases report besides their rates.
var extras = map[string][]string{
	"encode":           {"allocs", "limit_allocs"},
	"decode":           {"allocs", "limit_allocs"},
	"publish-1":        {"of_rows_together", "of_plain_file"},
	"publish-16":       {"of_rows_together", "of_plain_file"},
	"publish-128":      {"of_rows_together", "of_plain_file"},
	"batch-1000":       {"of_rows_together", "of_plain_file"},
	"e2e-1":            {"of_rows_together", "of_plain_file", "of_publish_128"},
	"e2e-10":           {"of_rows_together", "of_plain_file", "of_publish_128"},
	"e2e-batch-pages":  {"of_single"},
	"latency-idle":     {"p50_us", "p99_us", "commit_us", "commit_p99_us"},
	"events-50k":       {"events", "heap_mb", "rss_mb"},
	"buses-500":        {"events", "heap_mb", "rss_mb"},
	"ephemeral-50k":    {"events", "heap_mb", "rss_mb", "subscribe_us"},
	"backlog-1m":       {"events", "first_ms", "rss_mb"},
	"history-1m":       {"events"},
	"recover-100":      {"recover_ms"},
	"dead-letters-10k": {"first_page_ms", "last_page_ms"},
	"generate-1000":    {"generate_ms", "again_ms"},
}

func TestEveryCaseIsReportedAsOneLineOfJSON(t *testing.T) {
	short.Skip(t, "each case runs")
	dir := t.TempDir()
	code, stdout, stderr := bench(t.Context(), dir, "-short", "-json", "-time", "1ms", "-events", "3000")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var names []string
	for text := range strings.Lines(stdout) {
		var keys map[string]any
		var r result
		if err := json.Unmarshal([]byte(text), &keys); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		names = append(names, r.Case)

		want := append([]string{"case", "per_second", "limit_per_second", "ratio"}, extras[r.Case]...)
		if got := slices.Collect(maps.Keys(keys)); !sameKeys(got, want) {
			t.Errorf("%s reports %v, want %v: %s", r.Case, got, want, text)
		}
		if r.PerSecond <= 0 || r.Limit <= 0 {
			t.Errorf("%s is not a measurement: %s", r.Case, text)
		}
		if want := r.PerSecond / r.Limit; math.Abs(r.Ratio-want) > 0.0006+want/100 { // it is rounded to a thousandth
			t.Errorf("the ratio of %s is not that of its rates: %s", r.Case, text)
		}
		if r.Case == "latency-idle" && (r.P50 <= 0 || r.P99 < r.P50 || math.Abs(r.Ratio-r.Commit/r.P50) > 0.01) {
			t.Errorf("the latencies of %s do not fit together: %s", r.Case, text)
		}
	}
	if diff := cmp.Diff(allNames(), names); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	requireEmpty(t, dir)
}

// sameKeys compares in any order. What the system does not tell about memory,
// or is too little to show, may be missing.
func sameKeys(got, want []string) bool {
	without := func(keys []string) []string {
		return slices.DeleteFunc(slices.Sorted(slices.Values(keys)), func(key string) bool { return key == "rss_mb" })
	}
	return slices.Equal(without(got), without(want))
}

func TestTheTableHasALinePerCaseAndSaysWhatTheLimitIs(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := bench(t.Context(), dir, "-short", "-time", "1ms", "-case", "publish-1$|latency")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var first []string
	for text := range strings.Lines(stdout) {
		if fields := strings.Fields(text); len(fields) > 0 {
			first = append(first, fields[0])
		}
	}
	want := []string{"case", "publish-1", "latency-idle", "limit:"}
	if diff := cmp.Diff(want, first[:min(len(want), len(first))]); diff != "" {
		t.Errorf("lines (-want +got):\n%s\n%s", diff, stdout)
	}
	for _, part := range []string{"p99", "one commit", "cores", dir} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the table should say %q:\n%s", part, stdout)
		}
	}
	requireEmpty(t, dir)
}

func TestArgumentsThatMakeNoSenseAreRefused(t *testing.T) {
	tests := map[string]struct {
		args []string
		says string
	}{
		"a case that does not exist":  {[]string{"-case", "publish-7"}, "bench -h lists them"},
		"a broken regular expression": {[]string{"-case", "("}, "missing closing )"},
		"a negative time":             {[]string{"-time", "-1s"}, "-time -1s is negative"},
		"a negative number of events": {[]string{"-events", "-1"}, "-events -1 is negative"},
		"a case without -case":        {[]string{"publish-1"}, `"publish-1" is not a flag: use -case`},
		"a flag that does not exist":  {[]string{"-fast"}, "-fast"},
		"limits of one case":          {[]string{"-limits", "-case", "publish-1"}, "leave out -case and -json"},
		"growth of a case":            {[]string{"-growth", "-case", "publish-1"}, "matches nothing that can grow"},
		"idle buses of a case":        {[]string{"-idle", "1", "-case", "publish-1"}, "-idle measures idle buses only"},
		"a negative number of buses":  {[]string{"-idle", "-1"}, "-idle -1 is negative"},
		"what one case writes":        {[]string{"-written", "-case", "publish-1"}, "-written measures all ways"},
		"growth for a time":           {[]string{"-growth", "-time", "1s"}, "leave out -time and -limits"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := bench(t.Context(), t.TempDir(), test.args...)
			if code != 2 || stdout != "" || !strings.Contains(stderr, test.says) {
				t.Errorf("exit code %d, want 2 and %q on stderr\nstdout: %s\nstderr: %s", code, test.says, stdout, stderr)
			}
		})
	}
}

func TestHelpListsTheCases(t *testing.T) {
	code, _, stderr := bench(t.Context(), t.TempDir(), "-h")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, name := range allNames() {
		if !strings.Contains(stderr, "\n  "+name+" ") {
			t.Errorf("the help should list %s:\n%s", name, stderr)
		}
	}
}

func TestAnInterruptedRunFailsAndLeavesNoFiles(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if code, stdout, _ := bench(ctx, dir, "-short", "-json", "-time", "1ms"); code != 1 || stdout != "" {
		t.Errorf("exit code %d, want 1 and no results: %s", code, stdout)
	}
	requireEmpty(t, dir)
}

func TestAFolderThatDoesNotExistIsAnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nowhere")
	code, _, stderr := bench(t.Context(), dir, "-short")
	if code != 1 || !strings.Contains(stderr, dir) {
		t.Errorf("exit code %d, want 1 and the folder's name: %s", code, stderr)
	}
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("files were left in the folder: %v", left)
	}
}
