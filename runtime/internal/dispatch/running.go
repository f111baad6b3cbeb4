package dispatch

import (
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Running appends the attempts that have been running for at least so long,
// those included that were left behind. A batch is one, with its first event. It does not wait for one that is being
// settled: whoever takes down its log lines may take his time.
func (s *Scheduler) Running(all []event.Running, now time.Time, long time.Duration) []event.Running {
	group := ""
	if s.cfg.Group {
		group = s.cfg.Name
	}
	defer s.lookAtRunning()()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slot := range s.running {
		a := slot.Load()
		if a == nil || a.batch != nil || now.Sub(a.started) < long {
			continue
		}
		all = append(all, event.Running{
			Subscription: a.handler.Name, Group: group, Worker: int(a.worker), Event: a.ID, Type: a.Type,
			Attempt: a.Number, Started: a.started, Deadline: a.deadline(), Abandoned: s.on[a.worker] == 0,
		})
	}
	for _, b := range s.batches {
		if a := &b.whole; now.Sub(a.started) >= long {
			all = append(all, event.Running{
				Subscription: b.handler.Name, Worker: b.worker, Event: a.ID, Type: a.Type,
				Attempt: a.Number, Started: a.started, Deadline: a.deadline(), Abandoned: s.on[b.worker] == 0,
			})
		}
	}
	return all
}
