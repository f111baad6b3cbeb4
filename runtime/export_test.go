package runtime

import (
	"context"

	"github.com/busgen/busgen/runtime/ask"
)

// NotedFor returns for how many events that a handler has published at once the bus
// remembers that they are the handler's, and forgets them.
func NotedFor(ctx context.Context, b *Bus) int {
	return len(busOf(b).attemptOf(ctx).Abandon(ask.ErrAnswered))
}

// SubscribeAnew is what the bus does when a backup was restored into its log.
func SubscribeAnew(b *Bus) error { return busOf(b).subscribeAnew() }
