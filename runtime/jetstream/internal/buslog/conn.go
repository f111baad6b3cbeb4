package buslog

import (
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/nats-io/nuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// conn is the ground of a log: the stream, what the log was opened with, and whether it is still open. What it does needs the
// servers and no record. Its fields are set once, or safe for concurrent use.
type conn struct {
	stream   *stream.Stream
	target   string
	options  engine.Options
	logger   *slog.Logger
	instance string // the name of this process, as an owner
	host     string
	stopped  chan struct{} // closed by Close, or when the log is broken
	broken   atomic.Pointer[engine.StorageError]
	writing  engine.WriteFault
	leader   leader
	foreign  atomic.Int64 // the last message among the events that is none, and of which the logger knows
}

func (c *conn) init(s *stream.Stream, target string, options engine.Options) {
	c.stream, c.target, c.options, c.logger = s, target, options, options.Logger
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	c.instance, c.stopped = nuid.Next(), make(chan struct{})
	c.host, _ = os.Hostname()
}
