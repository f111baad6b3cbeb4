package texts

import (
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
)

// Stamp is a time as commands take it.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// TimeOf reads a time of a form, which is in UTC. Nothing is the zero time.
func TimeOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339,
		"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, refusal.BadRequest(
		fmt.Sprintf("%q is no time: want one in UTC, as in 2026-03-14T12:30.", Clip(text, MostValue)))
}
