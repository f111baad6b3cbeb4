package dispatch

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Running appends the attempts that have been running for at least so long,
// those included that were left behind.
func (s *Subscription) Running(all []engine.Running, now time.Time, long time.Duration) []engine.Running {
	var found []*Attempt
	s.mu.Lock()
	for _, a := range s.running {
		if a != nil && now.Sub(a.started) >= long {
			found = append(found, a)
		}
	}
	s.mu.Unlock()
	group := ""
	if s.cfg.Group {
		group = s.cfg.Name
	}
	for _, a := range found {
		a.mu.Lock()
		left, returned := a.left, a.returned
		a.mu.Unlock()
		if returned {
			continue
		}
		all = append(all, engine.Running{
			Subscription: a.handler.Name, Group: group, Worker: a.worker, Event: a.ID, Type: a.Type,
			Attempt: a.Number, Started: a.started, Deadline: a.deadline(), Abandoned: left,
		})
	}
	return all
}
