package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
)

// result holds the measurements of a case.
type result struct {
	Case      string  `json:"case"`
	PerSecond float64 `json:"per_second"`
	Limit     float64 `json:"limit_per_second"`
	Ratio     float64 `json:"ratio"`

	// Of encode and decode: for one payload.
	Allocs      float64 `json:"allocs,omitempty"`
	LimitAllocs float64 `json:"limit_allocs,omitempty"`

	// Of cases whose limit is the bare loop: the ratio to a bare loop whose statements insert
	// up to 64 rows each, and to a file to which the same bytes are appended, with as many syncs.
	OfTogether  float64 `json:"of_rows_together,omitempty"`
	OfPlainFile float64 `json:"of_plain_file,omitempty"`

	// Of e2e-1 and e2e-10: the ratio to publishing alone.
	OfPublish128 float64 `json:"of_publish_128,omitempty"`

	// Of e2e-batch-pages: the ratio to the same batches, handled one by one.
	OfSingle float64 `json:"of_single,omitempty"`

	// Of latency-idle.
	P50    float64 `json:"p50_us,omitempty"`
	P99    float64 `json:"p99_us,omitempty"`
	Commit float64 `json:"commit_us,omitempty"`
	// CommitP99 says how much of P99 is the disk, which also needs longer for some.
	CommitP99 float64 `json:"commit_p99_us,omitempty"`

	// Of cases that are about many events: how many there really were.
	Events int `json:"events,omitempty"`

	// Of backlog-1m.
	First float64 `json:"first_ms,omitempty"`
	// Also of events-50k, buses-500 and ephemeral-50k.
	RSS float64 `json:"rss_mb,omitempty"` // MiB, the peak above idle; 0 where the system does not tell

	// Of the same: what is alive on the heap, in MiB.
	Heap *float64 `json:"heap_mb,omitempty"`

	// Of ephemeral-50k: to make a subscription and to end it.
	Subscribe float64 `json:"subscribe_us,omitempty"`

	// Of recover-100.
	Recover float64 `json:"recover_ms,omitempty"`

	// Of dead-letters-10k.
	FirstPage float64 `json:"first_page_ms,omitempty"`
	LastPage  float64 `json:"last_page_ms,omitempty"`

	// Of generate-1000: into an empty folder, and again into the same one.
	Generate float64 `json:"generate_ms,omitempty"`
	Again    float64 `json:"again_ms,omitempty"`
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
	for _, number := range []*float64{&r.PerSecond, &r.Limit, &r.P50, &r.P99, &r.Commit, &r.CommitP99, &r.RSS,
		&r.Generate, &r.Again, &r.Subscribe} {
		*number = math.Round(*number*10) / 10
	}
	for _, number := range []*float64{&r.Ratio, &r.Allocs, &r.LimitAllocs, &r.OfTogether, &r.OfPlainFile,
		&r.OfPublish128, &r.OfSingle, &r.First, &r.Recover, &r.FirstPage, &r.LastPage} {
		*number = math.Round(*number*1000) / 1000
	}
	if r.Heap != nil {
		*r.Heap = math.Round(*r.Heap*1000) / 1000
	}
	return json.NewEncoder(l.w).Encode(r)
}

func (l *lines) end(string) {}

// table prints for people.
type table struct{ w io.Writer }

func (t *table) begin() {
	fmt.Fprintf(t.w, "%-17s %12s %12s %7s\n", "case", "per second", "limit", "ratio")
}

func (t *table) add(r result) error {
	_, err := fmt.Fprintf(t.w, "%-17s %12s %12s %7.2f%s\n", r.Case, thousands(r.PerSecond), thousands(r.Limit), r.Ratio,
		note(r))
	return err
}

func (t *table) end(dir string) {
	fmt.Fprintf(t.w, `
limit: what the storage does on this machine at the same time, nearly always a bare
loop that inserts the same rows through the same SQLite driver, with the same indexes
and as many rows per commit, taking turns with the bus; bench -h says it for each case.
Every commit of either is synced to disk. ratio: per second ÷ limit. Of rows together:
the ratio to a bare loop whose statements insert up to 64 rows each. Of a plain file:
the ratio to appending the same bytes to a file, with as many syncs.
%s/%s, %d cores, %s, files in %s
`, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), dir)
}

// note is the rest of the line: what the case measures besides.
func note(r result) string {
	var parts []string
	add := func(measured bool, format string, args ...any) {
		if measured {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(r.LimitAllocs > 0, "%.1f allocations, the limit has %.1f", r.Allocs, r.LimitAllocs)
	add(r.OfTogether > 0, "%.2f of rows together, %.2f of a plain file", r.OfTogether, r.OfPlainFile)
	add(r.OfPublish128 > 0, "%.2f of publish-128", r.OfPublish128)
	add(r.OfSingle > 0, "%.2f of handling one by one", r.OfSingle)
	add(r.P50 > 0, "p50 %s µs, p99 %s µs; of one commit %s and %s µs", thousands(r.P50), thousands(r.P99),
		thousands(r.Commit), thousands(r.CommitP99))
	add(r.Events > 0, "%s events", thousands(float64(r.Events)))
	add(r.First > 0, "the first after %.1f ms", r.First)
	add(r.Subscribe > 0, "made and ended in %.0f µs", r.Subscribe)
	if r.Heap != nil {
		add(true, "the heap has grown by %.1f MiB", *r.Heap)
	} else {
		add(r.RSS > 0, "%.0f MiB above idle", r.RSS)
	}
	add(r.Recover > 0, "recovered in %.1f ms", r.Recover)
	add(r.FirstPage > 0, "first page %.2f ms, last page %.2f ms", r.FirstPage, r.LastPage)
	add(r.Generate > 0, "all in %.0f ms, and for nothing in %.0f ms", r.Generate, r.Again)
	if parts == nil {
		return ""
	}
	return "   " + strings.Join(parts, ", ")
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
