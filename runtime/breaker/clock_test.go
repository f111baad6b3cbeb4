package breaker_test

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

func TestReadingsOutOfOrderAreTakenForTheNewest(t *testing.T) {
	b := breaker.New(breaker.Default())
	play(t, b, after(10*sec), "FFF")
	for range 100 { // read by a goroutine that was slow to get the lock
		play(t, b, after(9*sec), "R")
		play(t, b, after(10*sec), "R")
	}
	play(t, b, after(9*sec), "F")
	open := breaker.Status{State: breaker.Open, Until: after(40 * sec), Samples: 4, Failures: 4}
	wants(t, b, after(9*sec), open)
	wants(t, b, after(10*sec), open)
	refused(t, b, after(40*sec-1))
	acquire(t, b, after(40*sec))
}

func TestAClockThatIsSetBackDoesNotKeepItOpen(t *testing.T) {
	b := opened(t)
	refused(t, b, after(10*sec))
	back := after(-5 * time.Hour) // 20 s are left
	wants(t, b, back, breaker.Status{State: breaker.Open, Until: back.Add(20 * sec), Samples: 4, Failures: 4})
	refused(t, b, back)
	refused(t, b, back.Add(20*sec-1))
	play(t, b, back.Add(20*sec), "S")
}

func TestAClockThatIsSetBackDoesNotKeepOutcomes(t *testing.T) {
	b := breaker.New(breaker.Default())
	play(t, b, noon, "FFF")
	back := after(-5 * time.Hour)
	play(t, b, back, "R")
	wants(t, b, back.Add(59*sec), breaker.Status{Samples: 3, Failures: 3})
	wants(t, b, back.Add(60*sec), breaker.Status{})
}

func TestReadingsThatMakeNoSenseDoNotBreakIt(t *testing.T) {
	far := time.Unix(1<<40, 0) // further from noon than a Duration can say
	b := breaker.New(breaker.Default())
	for _, now := range []time.Time{noon, far, {}, far, noon, {}, noon, far, noon} {
		play(t, b, now, "FFFF")
		refused(t, b, now)
		refused(t, b, now.Add(30*sec-1))
		play(t, b, now.Add(30*sec), "S")
		play(t, b, now.Add(30*sec), "FFF")
		wants(t, b, now.Add(89*sec), breaker.Status{Samples: 3, Failures: 3})
		wants(t, b, now.Add(90*sec), breaker.Status{})
		play(t, b, now.Add(90*sec), "R")
	}
}
