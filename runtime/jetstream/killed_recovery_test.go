//go:build unix

package jetstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// recoveryTime is how long it may take after a harm until every part has an owner that works.
const recoveryTime = 15 * time.Second

// recovery is how long after a harm something was so.
type recovery struct {
	owned  time.Duration // every part, and every whole, had an owner that was alive
	works  time.Duration // every owner has looked at events that it had not before
	worker time.Duration // every worker has published something by itself, and handled something
	orders time.Duration // the publisher has published something
}

func (r recovery) String() string {
	return fmt.Sprintf("every part had a living owner after %v, and one that works after %v; every worker had published and handled something after %v, and the publisher had after %v",
		r.owned.Round(time.Millisecond), r.works.Round(time.Millisecond), r.worker.Round(time.Millisecond), r.orders.Round(time.Millisecond))
}

// recovers waits until all goes on, and fails if that takes too long. If an order ends a worker meanwhile, the
// machine stands still for as long as a harm, or the servers lose their leader once more, time begins anew. Time in
// which the machine had no time for the test does not count.
func (k *killing) recovers(since time.Time) {
	nc, err := nats.Connect(k.nodes.Hosts(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(time.Second))
	if err != nil {
		k.t.Error(err)
		return
	}
	defer nc.Close()
	var before map[string]ownership
	var r recovery
	_, lostBefore := k.stood.look()
	for ; ; time.Sleep(50 * time.Millisecond) {
		k.procs.Lock()
		again := k.lastDeath
		k.procs.Unlock()
		ended, lost := k.stood.look()
		if ended.After(again) {
			again = ended
		}
		if again.After(since) {
			since, before, r, lostBefore = again, nil, recovery{}, lost
		}
		now, err := k.cursors(nc)
		if err != nil && before != nil { // the servers had a leader, and have lost it without a harm
			k.leaderless++
			k.excuse(time.Now().Add(-time.Second))
			since, before, r, lostBefore = time.Now(), nil, recovery{}, lost
		}
		after := max(time.Since(since)-(lost-lostBefore), time.Nanosecond)
		if err == nil && before == nil {
			before = now
		}
		if err == nil && r.owned == 0 && k.ownedByLiving(now) {
			r.owned = after
		}
		if err == nil && r.works == 0 && moved(before, now) {
			r.works = after
		}
		silent := k.silentWorkers(since)
		if r.worker == 0 && silent == "" {
			r.worker = after
		}
		if k.journal.lastAfter(since) && r.orders == 0 {
			r.orders = after
		}
		if r.owned > 0 && r.works > 0 && r.worker > 0 && r.orders > 0 {
			k.worst = recovery{max(r.owned, k.worst.owned), max(r.works, k.worst.works), max(r.worker, k.worst.worker), max(r.orders, k.worst.orders)}
			k.procs.Lock()
			k.t.Logf("after %v: %v", k.untold, r)
			k.untold = nil
			k.procs.Unlock()
			if max(r.owned, r.works) > recoveryTime {
				k.t.Errorf("that is more than %v", recoveryTime)
			}
			return
		}
		if after > time.Minute {
			k.t.Errorf("a minute after a harm not all goes on (0 is not yet): %v; %s; %v; %v", r, silent, now, err)
			for i := range k.workers {
				w := k.worker(i)
				w.mu.Lock()
				w.harmed = true
				w.mu.Unlock()
				k.away(w.life)
				w.Dump()
				k.dead(w.life)
			}
			return
		}
	}
}

// standstill notices for how long the machine had no time for the test.
type standstill struct {
	mu    sync.Mutex
	ended time.Time     // the last time that was as long as a harm
	lost  time.Duration // all in all
}

// watch looks until stop is closed, and tells since when the machine had no time, if that was long.
func (s *standstill) watch(stop <-chan struct{}, tell func(since time.Time)) {
	const every = 50 * time.Millisecond
	for before := time.Now(); ; before = time.Now() {
		select {
		case <-time.After(every):
		case <-stop:
			return
		}
		now := time.Now()
		late := now.Sub(before) - every
		s.mu.Lock()
		if late >= shortestHarm {
			s.ended = now
		}
		if late > every {
			s.lost += late
		}
		s.mu.Unlock()
		if late >= time.Second {
			tell(before)
		}
	}
}

// excuse says that no worker could do anything since a time, for a reason that is no harm: then others may have taken
// over what it had.
func (k *killing) excuse(since time.Time) {
	var lives []*life
	for i := range k.workers {
		if w := k.worker(i); w != nil {
			lives = append(lives, w.life)
		}
	}
	k.statements.mu.Lock()
	defer k.statements.mu.Unlock()
	for _, of := range lives { // before one that may not have ended
		of.absence = slices.Insert(of.absence, 0, absence{since, time.Now().Add(missed)})
	}
}

func (s *standstill) look() (ended time.Time, lost time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended, s.lost
}

// ownership is the cursor of a part, or of a whole.
type ownership struct {
	PID     int
	N, Next int64
	Divided bool
}

// cursors asks the leader for the cursors that count.
func (k *killing) cursors(nc *nats.Conn) (map[string]ownership, error) {
	get := func(subject string, into any) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		request, _ := json.Marshal(map[string]string{"last_by_subj": subject})
		answer, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET.bus", request)
		if err != nil {
			return err
		}
		var said struct {
			Error   *struct{ Description string }
			Message struct{ Data []byte }
		}
		if err := json.Unmarshal(answer.Data, &said); err != nil {
			return err
		}
		if said.Error != nil {
			return fmt.Errorf("%s: %s", subject, said.Error.Description)
		}
		return json.Unmarshal(said.Message.Data, into)
	}
	var registry struct{ Subscriptions []struct{ ID string } }
	if err := get("bus.n", &registry); err != nil {
		return nil, err
	}
	all := map[string]ownership{}
	for _, s := range registry.Subscriptions {
		var one ownership
		if err := get("bus.c."+s.ID, &one); err != nil {
			return nil, err
		}
		if !one.Divided {
			all[s.ID] = one
			continue
		}
		for part := 1; part <= 16; part++ {
			var one ownership
			subject := fmt.Sprint("bus.c.", s.ID, ".", part)
			if err := get(subject, &one); err != nil {
				return nil, err
			}
			all[subject] = one
		}
	}
	return all, nil
}

// ownedByLiving reports whether all owners are processes of workers that run.
func (k *killing) ownedByLiving(all map[string]ownership) bool {
	living := map[int]bool{}
	for i := range k.workers {
		w := k.worker(i)
		select {
		case <-w.Ended():
		default:
			living[w.PID()] = true
		}
	}
	for one := range maps.Values(all) {
		if !living[one.PID] {
			return false
		}
	}
	return true
}

// moved reports whether all cursors have moved.
func moved(before, now map[string]ownership) bool {
	for subject, one := range now {
		if was, known := before[subject]; known && one.Next <= was.Next {
			return false
		}
	}
	return true
}

// silentWorkers says which workers have not published and handled anything since a time.
func (k *killing) silentWorkers(since time.Time) (silent string) {
	for i := range k.workers {
		w := k.worker(i)
		w.mu.Lock()
		if !w.beat.After(since) || !w.handled.After(since) {
			silent += fmt.Sprintf("worker %d has last published %v ago, and handled %v ago; ", i, time.Since(w.beat), time.Since(w.handled))
		}
		w.mu.Unlock()
	}
	return silent
}

// lastAfter reports whether the last acknowledgement came after a time.
func (j *journal) lastAfter(since time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last.After(since)
}
