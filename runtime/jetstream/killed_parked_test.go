//go:build unix

package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

var killParked = flag.Int("kill.parked", 0, "how often a process is killed most of whose deliveries are parked, beside servers that are processes")

// openParked opens a bus and subscribes in all ways in which deliveries are parked.
func openParked(target string, handle func(way string, e runtime.Event[conformance.Job]) error) (*runtime.Bus, error) {
	bus, err := runtime.Open(context.Background(), target, conformance.ParkedCatalogue(), conformance.ParkedLimit,
		runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(jetstream.Replicas(3)))
	if err == nil {
		err = conformance.SubscribeParked(bus, handle)
	}
	return bus, err
}

// park is the role of a process that handles until it is killed. It says when each handler begins and ends.
func park(args []string) {
	bus, err := openParked(args[0], func(way string, e runtime.Event[conformance.Job]) error {
		say := func(word string) {
			servertest.Say("%s %s %s %d %d %d", word, way, e.Payload.Customer, e.Payload.Number, e.Attempt, time.Now().UnixNano())
		}
		say("begin")
		time.Sleep(time.Duration(e.Payload.Number%3) * time.Millisecond)
		if way == "breaker" && e.Payload.Customer == "noisy" {
			return conformance.ErrBoom
		}
		say("end")
		return nil
	})
	if err == nil {
		err = bus.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	servertest.Say("ready")
	select {}
}

// parkedJournal is what the processes have said.
type parkedJournal struct {
	t     *testing.T
	mu    sync.Mutex
	began map[string]int   // by job
	ended map[string]int64 // by job: when
	final map[string]bool  // by job: that was stored
	last  map[string]int   // by subscription and customer: the number that came for the first time last
	ready chan struct{}
}

// hear takes a line.
func (j *parkedJournal) hear(line string) {
	var word, way, customer string
	var number, attempt int
	var at int64
	if line == "ready" {
		j.ready <- struct{}{}
		return
	}
	if n, _ := fmt.Sscan(line, &word, &way, &customer, &number, &attempt, &at); n < 6 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if job := fmt.Sprint(way, " ", number); word == "begin" {
		j.begin(job, way, customer, number, attempt)
	} else {
		j.ended[job] = at
	}
}

// begin notes that a handler is called. What may have begun before in a process that was killed may come later than
// others of its key. The caller holds mu.
func (j *parkedJournal) begin(job, way, customer string, number, attempt int) {
	of := way + " " + customer
	switch {
	case j.final[job]:
		j.t.Errorf("job %s of %s was settled and is handled again", job, customer)
	case j.began[job] == 0 && (attempt == 1 || way == "strict") && number < j.last[of] && way != "limit" && !(way == "breaker" && customer == "noisy"):
		j.t.Errorf("in %s, %d came after %d", of, number, j.last[of])
	}
	if j.began[job] == 0 {
		j.last[of] = max(j.last[of], number)
	}
	j.began[job]++
}

// killed notes that a process was killed. What it had ended some time before is stored.
func (j *parkedJournal) killed(at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for job, ended := range j.ended {
		if at.UnixNano()-ended > int64(2*time.Second) {
			j.final[job] = true
		}
	}
}

// The same as TestParkedDeliveriesOutliveKills, with servers and processes of their own.
func TestParkedDeliveriesOfRealServersOutliveKills(t *testing.T) {
	if *killParked == 0 {
		t.Skip("with -kill.parked 10")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 44))
	nodes := servertest.StartNodes(t, 3)
	target := "nats://" + nodes.Hosts() + "/bus"
	j := &parkedJournal{
		t: t, began: map[string]int{}, ended: map[string]int64{}, final: map[string]bool{}, last: map[string]int{}, ready: make(chan struct{}, 1),
	}
	bus, err := openParked(target, func(way string, e runtime.Event[conformance.Job]) error {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.begin(fmt.Sprint(way, " ", e.Payload.Number), way, e.Payload.Customer, e.Payload.Number, e.Attempt)
		return nil
	})
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	published := 0
	publish := func(noisy int) {
		conformance.Must(t, conformance.PublishParked(bus, noisy, func(*runtime.Receipt) { published++ }))
	}
	conformance.Must(t, bus.PauseKey(t.Context(), "pause", "noisy", "it is full"))
	publish(600)
	kinds := map[string]int{}
	for range *killParked {
		p := servertest.StartProcess(t, j.hear, "parker", target)
		select {
		case <-j.ready:
		case <-p.Ended():
			t.Fatal("a process has ended by itself")
		}
		publish(50)
		time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
		at := time.Now()
		p.Kill()
		<-p.Ended()
		j.killed(at)
		for kind := range parkedKinds(t, target) {
			kinds[kind]++
		}
	}
	t.Logf("%d were published, %d had begun, %d of them settled for sure; after kills, these were parked: %v", published, len(j.began), len(j.final), kinds)
	conformance.Must(t, bus.ResumeKey(t.Context(), "pause", "noisy"))
	conformance.Must(t, bus.Start(t.Context()))
	conformance.Must(t, bus.WaitIdle(t.Context()))
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.began) != published {
		t.Errorf("%d of %d were handled", len(j.began), published)
	}
	f, err := inspect.Open(t.Context(), target, jetstream.Inspect())
	conformance.Must(t, err)
	defer f.Close()
	letters, _, err := f.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	conformance.Must(t, err)
	if len(letters) > 0 {
		t.Errorf("%d are dead letters: %+v", len(letters), letters[0])
	}
	for _, kind := range []string{event.WaitlistLimit, event.WaitlistKey, event.WaitlistBreaker, event.WaitlistPause} {
		if kinds[kind] == 0 {
			t.Errorf("nothing was parked in a waitlist of kind %s", kind)
		}
	}
}

// parkedKinds returns for what deliveries are parked.
func parkedKinds(t *testing.T, target string) map[string]bool {
	t.Helper()
	f, err := inspect.Open(t.Context(), target, jetstream.Inspect())
	conformance.Must(t, err)
	defer f.Close()
	waitlists, err := f.Waitlists(t.Context())
	conformance.Must(t, err)
	kinds := map[string]bool{}
	for _, waitlist := range waitlists {
		kinds[waitlist.Kind] = true
	}
	return kinds
}
