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
func (l *Log) tidy(one leftover) {
	if len(l.leftovers) == mostLeftovers {
		l.leftovers = l.leftovers[1:]
	}
	l.leftovers = append(l.leftovers, one)
	if !l.tidying {
		l.tidying = true
		go l.tidyUp()
	}
}

// tidyUp goes on until nothing is left, or the log is closed.
func (l *Log) tidyUp() {
	for {
		l.mu.Lock()
		if l.isClosed() || len(l.leftovers) == 0 {
			l.leftovers, l.tidying = nil, false
			l.mu.Unlock()
			return
		}
		one := l.leftovers[0]
		l.leftovers = l.leftovers[1:]
		l.mu.Unlock()
		for l.stream.Purge(context.Background(), l.rowSubject(one.sub, one.seq), one.rev) != nil {
			select {
			case <-time.After(tidyAgain):
				continue
			case <-l.stopped:
			}
			break
		}
	}
}
