package buslog

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// patiently calls f until it fails with an error that does not pass by itself, or not at all: see waits.
func (c *conn) patiently(ctx context.Context, f func() error) error {
	for began := time.Now(); ; {
		if err := f(); err == nil || !c.waits(ctx, began, err) {
			return err
		}
	}
}

// waits waits a moment after an error that passes by itself, such as that the servers have no
// leader. It reports false if the error does not pass, or the context or the log has ended, or patience, if the
// context has no deadline: then the caller returns the error.
func (c *conn) waits(ctx context.Context, began time.Time, err error) bool {
	if !stream.Passes(err) || !stream.WaitsLonger(ctx, began, patience) {
		return false
	}
	select {
	case <-time.After(retryPause):
		return true
	case <-c.stopped:
	case <-ctx.Done():
	}
	return false
}
