package engine_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestTheLineageInMetadataThatTheBusHasNotWritten(t *testing.T) {
	const id = "018f4f2e-1c3a-7b21-8000-000000000001"
	for metadata, want := range map[string]engine.Lineage{
		"":                      {},
		"null":                  {},
		`{"hops":"2"`:           {},
		`{"hops":"-2"}`:         {},
		`{"hops":"many"}`:       {},
		`{"parent_id":"job-7"}`: {},
		`{"parent_id":7,"published_by":"biller"}`:                                            {PublishedBy: "biller"},
		`{"parent_id":"` + id + `","published_by":"biller","hops":"2","correlation_id":"x"}`: {CorrelationID: "x", ParentID: uuid.MustParse(id), PublishedBy: "biller", Hops: 2},
		`{"busgen.schedule":"x","busgen.scheduled_for":"2026-01-02T03:00:00+01:00"}`:         {Schedule: "x", ScheduledFor: time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC)},
		`{"busgen.schedule":"x","busgen.scheduled_for":"soon"}`:                              {},
		`{"busgen.scheduled_for":"2026-01-02T03:00:00Z"}`:                                    {},
		`{"busgen.schedule":"x"}`:                                                            {},
	} {
		if got := engine.LineageOf([]byte(metadata)); got != want {
			t.Errorf("%s: %+v, want %+v", metadata, got, want)
		}
	}
}
