package looks

import (
	"cmp"
	"context"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// Trend compares how many letters of a group died in the last hour and in the hour before.
type Trend struct{ Hour, Before int }

// Word says where it goes.
func (t Trend) Word() string {
	switch cmp.Compare(t.Hour, t.Before) {
	case 1:
		return "more"
	case -1:
		return "fewer"
	}
	if t.Hour == 0 {
		return "quiet"
	}
	return "as many"
}

// TrendOf returns the trend of one group.
func TrendOf(ctx context.Context, file *inspect.File, g event.FailureGroup, now time.Time) (t Trend, err error) {
	hour := now.Add(-time.Hour)
	if t, known := clearTrend(g, hour); known {
		return t, nil
	}
	f := event.Filter{Group: g.Fingerprint, Since: hour}
	if t.Hour, err = file.CountDeadLetters(ctx, f); err != nil {
		return t, err
	}
	f.Since = hour.Add(-time.Hour)
	t.Before, err = file.CountDeadLetters(ctx, f)
	t.Before = max(0, t.Before-t.Hour)
	return t, err
}

// clearTrend returns the trend of a group whose letters need not be counted for it: all of
// them died in the hour that began at a time, or none of them lately.
func clearTrend(g event.FailureGroup, hour time.Time) (t Trend, known bool) {
	if !g.First.Before(hour) {
		return Trend{Hour: g.Count}, true
	}
	return t, g.Last.Before(hour.Add(-time.Hour))
}

// Trends returns the trend of each group in which letters have died lately.
func Trends(
	ctx context.Context, file *inspect.File, groups []event.FailureGroup, now time.Time,
) (map[string]Trend, error) {
	all, hour := map[string]Trend{}, now.Add(-time.Hour)
	unclear := false
	for _, g := range groups {
		t, known := clearTrend(g, hour)
		if unclear = unclear || !known; known && t != (Trend{}) {
			all[g.Fingerprint] = t
		}
	}
	if !unclear {
		return all, nil
	}
	for _, hours := range []time.Duration{1, 2} {
		groups, err := file.FailureGroups(ctx, event.Filter{Since: now.Add(-hours * time.Hour)})
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			t := all[g.Fingerprint]
			if hours == 1 {
				t.Hour = g.Count
			} else {
				t.Before = g.Count - t.Hour
			}
			all[g.Fingerprint] = t
		}
	}
	return all, nil
}
