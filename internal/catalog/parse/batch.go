package parse

import (
	"time"

	"github.com/busgen/busgen/internal/catalog"
)

// limitBatch limits the events of a batch, as [runtime.WithBatch] does.
const limitBatch = 1000

var (
	batchKeys = []string{"size", "wait"}
	batchSpan = span{least: time.Millisecond, most: time.Hour, orOff: true}
)

// builtinBatch is what package runtime does if nothing is written.
func builtinBatch() catalog.Batch {
	return catalog.Batch{Size: catalog.Value[int]{V: 100}, Wait: catalog.Value[time.Duration]{V: 100 * time.Millisecond}}
}

// batch reads the size of batches and their wait.
func (r *Settings) batch(settings object) (b catalog.Batch) {
	e, ok := settings.entries["batch"]
	if !ok {
		return b
	}
	o, ok := r.object(e.value, "batch of "+settings.what, batchKeys...)
	if !ok {
		return b
	}
	if e, ok := o.entries["size"]; ok {
		b.Size = r.count(e, o.what, 1, limitBatch, "it is how many events a batch has at most")
	}
	b.Wait = r.duration(o, "wait", batchSpan)
	return b
}
