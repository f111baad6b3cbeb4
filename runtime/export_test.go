package runtime

import (
	"context"

	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// OpenOn opens a bus whose file is on the disk of a VFS. At elsewhere it makes a file that is not used.
func OpenOn(ctx context.Context, vfs, path, elsewhere string, catalogue *Catalogue, opts ...Option) (*Bus, error) {
	bus, err := Open(ctx, elsewhere, catalogue, opts...)
	if err != nil {
		return nil, err
	}
	b := busOf(bus)
	log, err := sqlite.Open(path, sqlite.Options{VFS: vfs, Logger: b.config.logger})
	if err != nil {
		return nil, err
	}
	if err := declareAll(ctx, log, catalogue); err != nil {
		return nil, err
	}
	err = closeWithin(ctx, b.log)
	b.log, b.admission.log = log, log
	return bus, err
}

// NotedFor returns for how many events that a handler has published at once the bus
// remembers that they are the handler's, and forgets them.
func NotedFor(ctx context.Context, b *Bus) int {
	return len(busOf(b).attemptOf(ctx).Abandon(ask.ErrAnswered))
}

// SubscribeAnew is what the bus does when a backup was restored into its log.
func SubscribeAnew(b *Bus) error { return busOf(b).subscribeAnew() }
