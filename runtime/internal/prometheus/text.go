// Package prometheus writes metrics in the text format of Prometheus (text/plain;
// version=0.0.4).
package prometheus

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Text is a page of metrics in the making. Labels are names and values in turn; those
// with an empty value are left out, which means the same.
type Text struct{ bytes.Buffer }

// Head begins a metric.
func (t *Text) Head(name, kind, help string) {
	fmt.Fprintf(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// Gauge writes a sample that may be a fraction.
func (t *Text) Gauge(name string, v float64, labels ...string) { t.sample(name, number(v), labels) }

// Count writes a sample that is a whole number.
func (t *Text) Count(name string, n uint64, labels ...string) {
	t.sample(name, strconv.FormatUint(n, 10), labels)
}

// Histogram writes cumulative buckets, the sum and the count. The bounds are in seconds;
// that of the last bucket is +Inf.
func (t *Text) Histogram(name string, buckets iter.Seq2[float64, uint64], sum float64, labels []string) {
	var n uint64
	for bound, count := range buckets {
		n += count
		t.Count(name+"_bucket", n, append(labels[:len(labels):len(labels)], "le", number(bound))...)
	}
	t.Gauge(name+"_sum", sum, labels...)
	t.Count(name+"_count", n, labels...)
}

func (t *Text) sample(name, value string, labels []string) {
	t.WriteString(name)
	separator := byte('{')
	for i := 0; i < len(labels); i += 2 {
		if labels[i+1] == "" {
			continue
		}
		t.WriteByte(separator)
		fmt.Fprintf(t, `%s="%s"`, labels[i], escaper.Replace(labels[i+1]))
		separator = ','
	}
	if separator == ',' {
		t.WriteByte('}')
	}
	fmt.Fprintf(t, " %s\n", value)
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// number formats a value; infinity is +Inf.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
