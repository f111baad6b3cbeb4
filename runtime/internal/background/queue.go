package background

import "context"

// Queue makes calls one after the other on its own goroutine, so that a slow call does
// not block its caller.
type Queue struct {
	calls chan func()
	ended chan struct{} // closed when the goroutine of Run has ended; nil before Run
}

// NewQueue returns a queue in which up to limit calls may wait.
func NewQueue(limit int) Queue { return Queue{calls: make(chan func(), limit)} }

// Offer adds a call. It never blocks, and reports false if the queue is full.
func (q *Queue) Offer(call func()) bool {
	select {
	case q.calls <- call:
		return true
	default:
		return false
	}
}

// Run starts the goroutine. When ctx ends, the goroutine makes the remaining calls and
// ends.
func (q *Queue) Run(ctx context.Context) {
	q.ended = make(chan struct{})
	go func() {
		defer close(q.ended)
		for {
			select {
			case call := <-q.calls:
				call()
			case <-ctx.Done():
				q.drain()
				return
			}
		}
	}()
}

func (q *Queue) drain() {
	for {
		select {
		case call := <-q.calls:
			call()
		default:
			return
		}
	}
}

// Wait waits until the goroutine has ended, or ctx ends. It returns at once if Run was
// never called.
func (q *Queue) Wait(ctx context.Context) {
	if q.ended == nil {
		return
	}
	select {
	case <-q.ended:
	case <-ctx.Done():
	}
}
