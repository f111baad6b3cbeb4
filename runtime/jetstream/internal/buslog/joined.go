package buslog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// An atomic batch costs a server that has no others several syncs of its disk, whatever is in it. So what several
// callers append with idempotency keys meanwhile is stored by the next batch together.

// joined has what waits for the next batch.
type joined struct {
	mu      sync.Mutex
	storing bool // somebody is at it, and comes to what waits
	waiting []*joining
}

// joining is what one caller appends.
type joining struct {
	msgs  []*stream.Msg
	first int64 // the sequence number of the first message
	err   error
	done  chan struct{} // closed when the others are known
}

// store appends messages together with those of others. The context ends the waiting until they are sent.
func (j *joined) store(ctx context.Context, p *publisher, msgs []*stream.Msg) (first int64, err error) {
	mine := &joining{msgs: msgs, done: make(chan struct{})}
	j.mu.Lock()
	j.waiting = append(j.waiting, mine)
	if !j.storing {
		j.storing = true
		go j.run(p)
	}
	j.mu.Unlock()
	select {
	case <-mine.done:
		return mine.first, mine.err
	case <-ctx.Done():
	}
	j.mu.Lock()
	before := len(j.waiting)
	j.waiting = slices.DeleteFunc(j.waiting, func(one *joining) bool { return one == mine })
	withdrawn := len(j.waiting) < before
	j.mu.Unlock()
	if withdrawn {
		return 0, ctx.Err()
	}
	<-mine.done
	return mine.first, mine.err
}

// run stores what waits, until nothing does.
func (j *joined) run(p *publisher) {
	for all := j.next(); len(all) > 0; all = j.next() {
		// If a key was used meanwhile all look their keys up again. An event may be stored, nobody knows which.
		if err := storeTogether(p, all); len(all) > 1 && errors.Is(err, stream.ErrStored) {
			for i := range all {
				storeTogether(p, all[i:i+1])
			}
		}
		for _, one := range all {
			close(one.done)
		}
	}
}

// next takes what fits into one batch. No key comes twice in it: the servers would refuse all.
func (j *joined) next() (all []*joining) {
	j.mu.Lock()
	defer j.mu.Unlock()
	keys, messages, bytes := map[string]bool{}, 0, 0
	left := j.waiting[:0:0]
	for _, one := range j.waiting {
		size, twice := 0, false
		for _, m := range one.msgs {
			size += len(m.Data) + overhead
			twice = twice || m.Expect != nil && keys[m.Subject]
		}
		if full := messages+len(one.msgs) > batchRoom || bytes+size > batchBytes; len(all) > 0 && (full || twice || len(left) > 0) {
			left = append(left, one)
			continue
		}
		for _, m := range one.msgs {
			if m.Expect != nil {
				keys[m.Subject] = true
			}
		}
		all, messages, bytes = append(all, one), messages+len(one.msgs), bytes+size
	}
	j.waiting, j.storing = left, len(all) > 0
	return all
}

// storeTogether stores what several callers append.
func storeTogether(p *publisher, all []*joining) error {
	var msgs []*stream.Msg
	for _, one := range all {
		msgs = append(msgs, one.msgs...)
	}
	until, before := time.Now().Add(patience-lookTimeout), p.known()
	t := p.try(tryTime, msgs)
	first, err := t.first, t.err
	if len(all) == 1 || !errors.Is(err, stream.ErrStored) {
		first, err = p.storeOn(msgs, until, before, t)
	}
	for _, one := range all {
		one.first, one.err = first, err
		first += int64(len(one.msgs))
	}
	return err
}
