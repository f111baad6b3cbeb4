package page

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/chart"
	"github.com/busgen/busgen/runtime/inspect/page/internal/looks"
)

// file is what the request looks into the file with. For changes there is act.
func (q *request) file() *inspect.File {
	if q.looks == nil {
		taken, err := q.page.files.Take(q.Context())
		if err != nil {
			return q.page.file // which says the same
		}
		q.looks = taken
	}
	return q.looks
}

// giveBack ends the use of the file.
func (q *request) giveBack() {
	if q.looks != nil {
		q.page.files.Give(q.looks)
		q.looks = nil
	}
}

// causes are the dead letters by their cause, as they were counted at a time.
type causes struct {
	at     time.Time
	groups []event.FailureGroup
	trends map[string]looks.Trend
}

// causes returns the dead letters by their cause: as they are now, or as they were a moment
// ago if counting takes long.
func (q *request) causes() (causes, error) {
	return q.page.counts.Get(q.Context(), q.page.files, q.now, func(ctx context.Context, file *inspect.File, now time.Time) (found causes, err error) {
		found.at = now
		if found.groups, err = file.FailureGroups(ctx, event.Filter{}); err == nil {
			found.trends, err = looks.Trends(ctx, file, found.groups, now)
		}
		return found, err
	})
}

// countedHour returns the counts of the last hour, as they were a moment ago if counting takes long.
func (q *request) countedHour() (event.Hour, error) {
	return q.page.hours.Get(q.Context(), q.page.files, q.now, func(ctx context.Context, file *inspect.File, _ time.Time) (event.Hour, error) {
		return file.Hour(ctx)
	})
}

// hourOf returns the curve of the dead letters of one subscription; nil if there was none in the last hour.
func (q *request) hourOf(subscription string) (*chart.Spark, error) {
	found, err := q.countedHour()
	for _, s := range found.Subscriptions {
		if s.Name == subscription {
			one := chart.SparkOf("Dead letters of the last hour", "dead letter", s.Dead)
			one.Bad = true
			return &one, err
		}
	}
	return nil, err
}

// hour returns the last hour as curves.
func (q *request) hour() (chart.Hour, error) {
	found, err := q.countedHour()
	if err != nil {
		return chart.Hour{}, err
	}
	return chart.HourOf(found), nil
}
