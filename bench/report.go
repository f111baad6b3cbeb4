package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
)

// result is what a case came to.
type result struct {
	Case      string  `json:"case"`
	PerSecond float64 `json:"per_second"`
	Limit     float64 `json:"limit_per_second"`
	Ratio     float64 `json:"ratio"`

	// Of latency cases, in microseconds.
	P50    float64 `json:"p50_us,omitempty"`
	P99    float64 `json:"p99_us,omitempty"`
	Commit float64 `json:"commit_us,omitempty"`
}

// A report is printed case by case, as they are done.
type report interface {
	begin()
	add(r result) error
	end(dir string)
}

// lines prints one JSON object per case.
type lines struct{ w io.Writer }

func (l *lines) begin() {}

func (l *lines) add(r result) error {
	for _, number := range []*float64{&r.PerSecond, &r.Limit, &r.P50, &r.P99, &r.Commit} {
		*number = math.Round(*number*10) / 10
	}
	r.Ratio = math.Round(r.Ratio*1000) / 1000
	return json.NewEncoder(l.w).Encode(r)
}

func (l *lines) end(string) {}

// table prints for people.
type table struct{ w io.Writer }

func (t *table) begin() {
	fmt.Fprintf(t.w, "%-14s %12s %12s %7s\n", "case", "per second", "limit", "ratio")
}

func (t *table) add(r result) error {
	_, err := fmt.Fprintf(t.w, "%-14s %12s %12s %7.2f%s\n", r.Case, thousands(r.PerSecond), thousands(r.Limit), r.Ratio, note(r))
	return err
}

func (t *table) end(dir string) {
	fmt.Fprintf(t.w, `
limit: a bare loop that inserts the same rows through the same SQLite driver, with
the same indexes and as many rows per commit, taking turns with the bus. Every
commit of either is synced to disk. ratio: per second ÷ limit.
%s/%s, %d cores, %s, files in %s
`, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), dir)
}

// note is the rest of the line of a latency case.
func note(r result) string {
	if r.P50 == 0 {
		return ""
	}
	return fmt.Sprintf("   p50 %s µs, p99 %s µs, one commit %s µs", thousands(r.P50), thousands(r.P99), thousands(r.Commit))
}

// thousands formats a whole number with a comma between each three digits.
func thousands(number float64) string {
	digits := fmt.Sprintf("%.0f", number)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}
