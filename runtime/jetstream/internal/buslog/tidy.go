package buslog

import (
	"context"
	"time"
)

// The servers delete what a record replaces after they have stored the record. One that is
// killed in between keeps both, and neither repairs that nor tells the others. It does not
// matter as long as the newer one is there. But the record of a row that is gone is deleted
// after goneTime: then the one before would count again, and a delivery that is settled would
// wait. So whoever handles the subscription has the servers delete what is before it once more.

// leftover is what may be left of a row that is gone: its records before rev.
type leftover struct {
	sub      string
	seq, rev int64
}

// mostLeftovers is how many are known at most; of more, the oldest are forgotten.
const mostLeftovers = 1 << 16

// tidyAgain is the pause after the servers have not answered.
const tidyAgain = time.Second

// tidy has the servers delete what may be left of a row. The caller holds mu.
func (h *handled) tidy(one leftover) {
	if len(h.leftovers) == mostLeftovers {
		h.leftovers = h.leftovers[1:]
	}
	h.leftovers = append(h.leftovers, one)
	if !h.tidying {
		h.tidying = true
		go h.tidyUp()
	}
}

// tidyUp goes on until nothing is left, or the log is closed.
func (h *handled) tidyUp() {
	for {
		h.mu.Lock()
		if h.isClosed() || len(h.leftovers) == 0 {
			h.leftovers, h.tidying = nil, false
			h.mu.Unlock()
			return
		}
		one := h.leftovers[0]
		h.leftovers = h.leftovers[1:]
		h.mu.Unlock()
		for h.stream.Purge(context.Background(), h.rowSubject(one.sub, one.seq), one.rev) != nil {
			select {
			case <-time.After(tidyAgain):
				continue
			case <-h.stopped:
			}
			break
		}
	}
}
