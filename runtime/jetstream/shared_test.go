package jetstream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

func TestAProcessThatComesGetsItsShareWithinFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharing(t)
		publish, end := x.publisher()
		stop := make(chan struct{})
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
					publish(fmt.Sprint("key ", n%50))
				}
			}
		}()
		all := []*sharer{x.start(4)}
		x.wantOwners(16)
		for _, want := range [][]int{{8, 8}, {6, 5, 5}, {4, 4, 4, 4}, {4, 3, 3, 3, 3}} {
			all = append(all, x.start(4))
			time.Sleep(5 * time.Second)
			x.wantOwners(want...)
		}
		for i, want := range [][]int{{4, 4, 4, 4}, {6, 5, 5}, {8, 8}, {16}} {
			all[i].shutdown()
			time.Sleep(time.Second)
			x.wantOwners(want...)
		}
		close(stop)
		time.Sleep(time.Second)
		x.wait(time.Second)
		all[4].shutdown()
		end()
		x.report()
		if x.repeats > 0 {
			t.Error(x.repeats, "events were handled twice")
		}
	})
}

func TestFourProcessesDoNearlyFourTimesAsMuchAsOne(t *testing.T) {
	took := func(processes int) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			x := newSharing(t)
			publish, end := x.publisher()
			var all []*sharer
			for range processes {
				all = append(all, x.start(4))
			}
			time.Sleep(6 * time.Second)
			began := time.Now()
			for n := range 4000 {
				publish(fmt.Sprint("key ", n))
			}
			x.wait(time.Minute)
			took = time.Since(began)
			for _, p := range all {
				t.Log(p.name, "has handled", p.handled)
				p.shutdown()
			}
			end()
			x.report()
		})
		return took
	}
	one, four := took(1), took(4)
	if ratio := float64(one) / float64(four); ratio < 3.4 {
		t.Errorf("one process takes %v, four take %v: %.2f times as fast", one, four, ratio)
	} else {
		t.Logf("one process takes %v, four take %v: %.2f times as fast", one, four, ratio)
	}
}

func TestTheOrderOfAKeyIsKeptAcrossProcessesHoweverTheyEnd(t *testing.T) {
	for round := range *tortureRounds {
		seed := *tortureSeed + uint64(round)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newSharing(t)
				random := rand.New(rand.NewPCG(seed, 1))
				x.takes = func(n int) time.Duration { return time.Duration(1+n%20) * time.Millisecond }
				publish, end := x.publisher()
				published := make(chan struct{})
				go func() {
					defer close(published)
					for n := range 10 * *tortureEvents {
						publish(fmt.Sprint("key ", n%23))
						time.Sleep(time.Duration(n%7) * time.Millisecond)
					}
				}()
				var all []*sharer
				kills, freezes, shutdowns := 0, 0, 0
				for going := true; going; {
					for len(all) < 4 {
						all = append(all, x.start(4))
					}
					select {
					case <-published:
						going = false
						continue
					case <-time.After(time.Duration(random.IntN(1500)) * time.Millisecond):
					}
					at := random.IntN(len(all))
					switch p := all[at]; random.IntN(4) {
					case 0:
						p.freeze(20 * time.Second)
						freezes++
					case 1:
						p.shutdown()
						shutdowns++
					default:
						p.kill()
						kills++
					}
					all = append(all[:at], all[at+1:]...)
				}
				x.wait(time.Minute)
				time.Sleep(40 * time.Second) // those that were frozen end
				for _, p := range all {
					p.shutdown()
				}
				end()
				x.report()
				t.Log(kills, "kills,", freezes, "freezes,", shutdowns, "shutdowns")
			})
		})
	}
}

// All parts have handlers that run, for longer than the process waits before it lets go of others.
func TestAPartIsLetGoOfWhenItsHandlersHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharing(t)
		x.takes = func(int) time.Duration { return 1500 * time.Millisecond }
		publish, end := x.publisher()
		for n := range 600 {
			publish(fmt.Sprint("key ", n%60))
		}
		one := x.start(48)
		time.Sleep(time.Second)
		other := x.start(48)
		time.Sleep(10 * time.Second)
		x.wantOwners(8, 8)
		x.wait(time.Minute)
		one.shutdown()
		other.shutdown()
		end()
		x.report()
		if x.repeats > 0 {
			t.Error(x.repeats, "events were handled twice")
		}
	})
}
