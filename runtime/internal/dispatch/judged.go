package dispatch

import (
	"sync"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// judged is what becomes of the deliveries of a batch, until it is settled. Only the slices
// are used again.
type judged struct {
	runs    []*run
	settled []engine.Settled // one for each
	reports []report         // to observers
	ended   func()           // tells them of the batch; nil for nothing
}

// report is what observers are told of an attempt. If tell is nil, it has succeeded.
type report struct {
	of   *Attempt
	tell func()
}

var judgedPool = sync.Pool{New: func() any { return new(judged) }}

func (j *judged) add(r *run, v engine.Disposition) {
	j.runs = append(j.runs, r)
	j.settled = append(j.settled, engine.Settled{Delivery: r.Delivery, Disposition: v})
}

// free makes the slices usable for another batch.
func (j *judged) free() {
	clear(j.runs)
	clear(j.settled)
	clear(j.reports)
	j.runs, j.settled, j.reports, j.ended = j.runs[:0], j.settled[:0], j.reports[:0], nil
	judgedPool.Put(j)
}
