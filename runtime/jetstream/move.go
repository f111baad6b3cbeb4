package jetstream

import (
	"context"
	"os"
	"os/user"

	"github.com/busgen/busgen/runtime/internal/sqlite"
	"github.com/busgen/busgen/runtime/jetstream/internal/buslog"
	"github.com/busgen/busgen/runtime/jetstream/internal/move"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Moved is how much [Move] has moved: events, waiting deliveries, dead letters, idempotency keys
// and subscriptions.
//
//	type Moved struct {
//		Events        int
//		Waiting       int
//		Dead          int
//		Keys          int
//		Subscriptions int
//	}
type Moved = buslog.Moved

// Move moves what is open in the file of a bus to a new bus on NATS JetStream: events that some
// subscription has yet to handle, deliveries that wait, with their attempts and due times, dead
// letters, subscriptions with their names and positions, pauses, schedules, and idempotency
// keys. It fails if a process dispatches from the file, or if the target was used before.
//
// From its beginning on nothing can be published to the file and nothing in it changes; a
// program that opens it is told where its events are. Move may end at any moment, by an error or
// with the process: called again with the same path and target, it goes on, and nothing is there
// twice. Programs can open the target when it is done. Events that are settled stay in the file.
//
// progress is called from time to time, by the goroutine that called Move; it may be nil. The
// options are those of [Engine].
func Move(ctx context.Context, path, target string, progress func(Moved), opts ...Option) (Moved, error) {
	k := newKeeper(opts)
	if progress == nil {
		progress = func(Moved) {}
	}
	return move.Move(ctx, path, redacted(target), actor(), func() (*stream.Stream, error) {
		return k.open(ctx, target, nil, stream.Open)
	}, progress)
}

// TakeBack makes a file that was moved, or whose move has begun, one of a bus again, as it was
// when the move began. It returns where its events were moved to, or "" if they were not: that
// bus is left as it is. A program that uses both handles events twice.
func TakeBack(ctx context.Context, path string) (target string, err error) {
	return sqlite.TakeBack(ctx, path)
}

// actor names the person who runs this program.
func actor() string {
	host, _ := os.Hostname()
	if u, err := user.Current(); err == nil {
		return u.Username + "@" + host
	}
	return host
}
