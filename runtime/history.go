package runtime

import (
	"context"
	"fmt"
	"sync"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// NotInspectableError says that the engine of a bus keeps events, but cannot list them:
// what reads or changes the history of events does not work with it.
type NotInspectableError struct {
	Engine string // the Go type of the engine
}

// Error names the engine.
func (e *NotInspectableError) Error() string {
	return fmt.Sprintf("the engine %s of this bus cannot look into its log: the history of events is not available with it", e.Engine)
}

// history is the log of a bus as an operator sees it. It is opened when it is first
// needed, and closed with the bus. It holds no reference to the bus, so that it does not
// keep a bus that is dropped.
type history struct {
	mu     sync.Mutex
	log    engine.Inspection
	closed bool
}

// history returns the log of the bus, to look into it. The actor of what is changed there
// is the program. The error is [ErrShutdown] once the bus is shut down, a
// *[NotInspectableError], or a *[event.StorageError]. Whoever uses it keeps the bus alive (keep).
func (b *innerBus) history(ctx context.Context) (engine.Inspection, error) {
	if err := b.accepts(); err != nil {
		return nil, err
	}
	h := b.past
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrShutdown
	}
	if h.log != nil {
		return h.log, nil
	}
	inspectable, ok := b.config.engine.(engine.Inspectable)
	if !ok {
		return nil, &NotInspectableError{Engine: fmt.Sprintf("%T", b.config.engine)}
	}
	log, err := inspectable.Inspect(ctx, b.log.Traits().Target, program())
	if err != nil {
		return nil, public(err)
	}
	h.log = log
	return log, nil
}

// close closes the log, if it was opened. Whoever reads it at this moment gets
// engine.ErrClosed, and whoever changes it is waited for.
func (h *history) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.log == nil {
		return nil
	}
	return h.log.Close()
}
