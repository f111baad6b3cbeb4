//go:build unix

package jetstream_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// A process is stopped, and a network is cut, for shortestHarm to longestHarm.
const (
	shortestHarm = 3 * time.Second
	longestHarm  = 20 * time.Second
)

// harm does something to a process or a network, and waits until that is over. Before the last one, and mostly, it
// waits until all goes on. The number of the harm says what is done with -short.
func (k *killing) harm(number int) {
	pause := time.Duration(500+k.random.IntN(3000)) * time.Millisecond
	what, server, worker := k.random.IntN(20), k.random.IntN(3), k.random.IntN(len(k.workers))
	atLeader, beside, rests := k.random.IntN(3) > 0, k.random.IntN(4) == 0, k.random.IntN(3) > 0
	lasts := shortestHarm + time.Duration(k.random.Int64N(int64(longestHarm-shortestHarm)))
	besides := shortestHarm + time.Duration(k.random.Int64N(int64(longestHarm-shortestHarm)))
	if number == killHarms.N()-1 {
		rests = true
	}
	if testing.Short() { // a worker is killed while the leader is cut off from all
		pause, what, lasts, atLeader, beside = 500*time.Millisecond, []int{0, 18}[number%2], shortestHarm, true, false
		rests = what > 0
	}
	time.Sleep(pause)
	var both sync.WaitGroup
	if beside {
		both.Go(func() { k.stopWorker((worker+1)%len(k.workers), besides) })
	}
	switch {
	case what < 4:
		k.killWorker(worker)
	case what < 8:
		k.stopWorker(worker, lasts)
	case what == 8:
		k.note("publisher killed", 0)
		k.procs.Lock()
		publisher := k.publisher
		k.procs.Unlock()
		publisher.Kill()
	default:
		k.harmServer(what, server, atLeader, lasts)
	}
	both.Wait()
	if rests {
		k.recovers(time.Now())
	}
	if what > 8 {
		k.nodes.WaitCurrent("bus", time.Minute) // two servers of three have to be there
	}
}

// note says what is done, and for how long.
func (k *killing) note(what string, lasts time.Duration) {
	k.procs.Lock()
	defer k.procs.Unlock()
	k.harmed[what]++
	k.untold = append(k.untold, fmt.Sprint(what, " for ", lasts.Round(time.Millisecond)))
}

func (k *killing) worker(i int) *handling {
	k.procs.Lock()
	defer k.procs.Unlock()
	return k.workers[i]
}

func (k *killing) killWorker(i int) {
	k.note("worker killed", 0)
	w := k.worker(i)
	w.mu.Lock()
	w.harmed = true
	w.mu.Unlock()
	k.away(w.life)
	w.Kill()
	k.dead(w.life)
}

func (k *killing) stopWorker(i int, lasts time.Duration) {
	k.note("worker stopped", lasts)
	w := k.worker(i)
	k.away(w.life)
	w.Stop()
	time.Sleep(lasts)
	w.Continue()
	k.back(w.life)
}

// harmServer harms a server, and so perhaps each worker: nobody knows here which are connected to it.
func (k *killing) harmServer(what, server int, atLeader bool, lasts time.Duration) {
	whom := "a server"
	if leader := k.nodes.Leader("bus"); leader >= 0 && (atLeader || leader == server) {
		server, whom = leader, "the leader"
	}
	k.procs.Lock()
	lives := make([]*life, 0, len(k.workers))
	for _, w := range k.workers {
		lives = append(lives, w.life)
	}
	k.procs.Unlock()
	for _, of := range lives {
		k.away(of)
		defer k.back(of)
	}
	switch {
	case what < 11:
		lasts /= 8
		k.note(whom+" killed", lasts)
		k.nodes.Kill(server)
		time.Sleep(lasts)
		k.nodes.Start(server)
		return
	case what < 14:
		k.note(whom+" stopped", lasts)
		p := k.nodes.Node(server)
		p.Stop()
		time.Sleep(lasts)
		p.Continue()
		return
	}
	var cut []*servertest.Proxy
	from := "clients"
	switch what / 2 {
	case 7:
		cut, from = k.network.Servers(server), "servers"
	case 8:
		cut = k.network.Clients(server)
	default:
		cut, from = append(k.network.Servers(server), k.network.Clients(server)...), "all"
	}
	how, do := " hangs", (*servertest.Proxy).Cut
	if what%2 == 1 {
		how, do = " refused", (*servertest.Proxy).Refuse
	}
	k.note(whom+" cut off from "+from+how, lasts)
	for _, p := range cut {
		do(p)
	}
	time.Sleep(lasts)
	for _, p := range cut {
		p.Heal()
	}
}
