package busprom_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

type placed = runtime.Event[conformance.OrderPlaced]

// gathered returns the metrics of a collector by name, as a scrape has them.
func gathered(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	conformance.Must(t, registry.Register(c))
	families, err := registry.Gather()
	conformance.Must(t, err)
	var page bytes.Buffer
	encoder := expfmt.NewEncoder(&page, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		conformance.Must(t, encoder.Encode(f))
	}
	return parsed(t, page.Bytes())
}

// parsed reads a page with the parser of Prometheus.
func parsed(t *testing.T, page []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	conformance.Must(t, err)
	return families
}

// samples returns the samples of a metric, by its labels.
func samples(f *dto.MetricFamily) map[string]string {
	all := map[string]string{}
	for _, m := range f.GetMetric() {
		var pairs []string
		for _, l := range m.GetLabel() {
			if l.GetValue() != "" {
				pairs = append(pairs, l.GetName()+"="+l.GetValue()+" ")
			}
		}
		slices.Sort(pairs)
		labels := strings.Join(pairs, "")
		switch {
		case m.Counter != nil:
			all[labels] = fmt.Sprint(m.Counter.GetValue())
		case m.Gauge != nil:
			all[labels] = fmt.Sprint(m.Gauge.GetValue())
		case m.Histogram != nil:
			h := m.Histogram
			all[labels] = fmt.Sprint(h.GetSampleCount(), h.GetSampleSum())
			for _, b := range h.GetBucket() {
				all[labels] += fmt.Sprint(" ", b.GetUpperBound(), ":", b.GetCumulativeCount())
			}
		}
	}
	return all
}

// one returns the value of the sample with these labels.
func one(t *testing.T, all map[string]*dto.MetricFamily, name, labels string) string {
	t.Helper()
	v, found := samples(all[name])[labels]
	if !found {
		t.Errorf("there is no %s{%s}, but %v", name, labels, samples(all[name]))
	}
	return v
}

func ignore(context.Context, placed) error { return nil }
