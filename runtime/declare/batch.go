package declare

import (
	"cmp"
	"fmt"
	"time"
)

// Batch says how large batches are. A batch begins when it has Size events, or when Wait has
// passed since its first event was taken. It begins at once if its event has a batch of its
// own, or if a handler waits for it.
type Batch struct {
	Size int           // at most so many events, from 1 to 1000; 0 for 100
	Wait time.Duration // for more events, from 0 to 1h; 0 with a Size of 0 is 100ms, and otherwise not to wait
}

// What holds where nothing is set, and what may be set.
const (
	defaultBatchSize = 100
	defaultBatchWait = 100 * time.Millisecond
	maxBatchSize     = 1000
	maxBatchWait     = time.Hour
)

// WithDefaults returns the batch with the numbers that its zeros stand for.
func (b Batch) WithDefaults() Batch {
	if b == (Batch{}) {
		b.Wait = defaultBatchWait
	}
	b.Size = cmp.Or(b.Size, defaultBatchSize)
	return b
}

// Validate returns nil for a batch that a bus can make.
func (b Batch) Validate() error {
	if b.Size < 0 || b.Size > maxBatchSize {
		return fmt.Errorf("Batch has the Size %d: it must be from 1 to %d", b.Size, maxBatchSize)
	}
	if b.Wait < 0 || b.Wait > maxBatchWait {
		return fmt.Errorf("Batch has the Wait %v: it must be from 0 to %v", b.Wait, maxBatchWait)
	}
	return nil
}
