package jetstream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// The connections of all processes are away again and again, for less than the time after which
// a process counts as dead. So all of them keep what they have: nothing comes again, and the
// order of each key is kept.
func TestProcessesWhoseConnectionsFlapHandleEverythingOnceAndInOrder(t *testing.T) {
	for round := range *tortureRounds {
		seed := *tortureSeed + uint64(round)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			deafBubble(t, func(t *testing.T) {
				x := newSharing(t)
				x.takes = func(n int) time.Duration { return time.Duration(1+n%20) * time.Millisecond }
				publish, end := x.publisher()
				all := []*sharer{x.start(4), x.start(4), x.start(4)}
				time.Sleep(6 * time.Second)
				stop, flaps := make(chan struct{}), make(chan int)
				for i, p := range all {
					go func() {
						random, n := rand.New(rand.NewPCG(seed, uint64(i))), 0
						for ; ; n++ {
							select {
							case <-stop:
								flaps <- n
								return
							case <-time.After(time.Duration(1000+random.IntN(3000)) * time.Millisecond):
							}
							away := time.Duration(50+random.IntN(2400)) * time.Millisecond
							if random.IntN(2) == 0 {
								p.line.Cut()
								time.Sleep(away)
								p.line.Restore()
							} else { // what it says arrives, and the answers are lost
								p.line.Deafen()
								time.Sleep(away)
								p.line.Drop()
							}
						}
					}()
				}
				for n := range 10 * *tortureEvents {
					publish(fmt.Sprint("key ", n%23))
					time.Sleep(time.Duration(n%40) * time.Millisecond)
				}
				close(stop)
				total := <-flaps + <-flaps + <-flaps
				x.wait(time.Minute)
				for _, p := range all {
					p.shutdown()
				}
				end()
				x.report()
				t.Log("the connections were away", total, "times")
			})
		})
	}
}
