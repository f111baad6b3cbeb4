package systest

import (
	"bufio"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

func init() { children["schedule"] = scheduleChild }

// fastClock is a wall clock on which an hour passes in 3.6 seconds, the same in all
// processes.
func fastClock() time.Time {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return begin.Add(time.Since(begin) * 1000)
}

func withFastClock() runtime.Option { return testhook.WithWallClock(fastClock).(runtime.Option) }

var secondly = runtime.NewCatalogue(runtime.Define(runtime.Spec[OrderPlaced]{
	Name: "order.placed", Settings: declare.DefaultSettings(),
	Schedules: []declare.Schedule{{Name: "secondly", Every: time.Second, Missed: declare.MissedAll, Payload: `{"order_id":"A","number":1,"weight":0}`}},
}))

// scheduleChild publishes the events of a schedule until it is killed.
func scheduleChild(path string) {
	bus, err := runtime.Open(context.Background(), path, secondly, withFastClock())
	check(err)
	check(bus.Start(context.Background()))
	say("ready")
	select {}
}

func TestNoTimeOfAScheduleIsLostOrPublishedTwiceByKills(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "events.db")
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childMode+"=schedule", childFile+"="+path)
		out, err := child.StdoutPipe()
		Must(t, err)
		Must(t, child.Start())
		bufio.NewScanner(out).Scan() // it is ready, and catches up
		time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
		Must(t, child.Process.Kill())
		child.Wait()
	}

	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer file.Close()
	schedules, err := file.Schedules(t.Context())
	Must(t, err)
	var times []time.Time // the newest first
	for page := (event.Page{Limit: 1000}); ; {
		events, next, err := file.Events(t.Context(), event.Filter{}, page)
		Must(t, err)
		for _, e := range events {
			var metadata map[string]string
			Must(t, json.Unmarshal(e.Metadata, &metadata))
			at, err := time.Parse(time.RFC3339Nano, metadata["busgen.scheduled_for"])
			Must(t, err)
			times = append(times, at)
		}
		if page.After = next; next == "" {
			break
		}
	}
	if len(times) < 100 || len(schedules) != 1 { // however slow the machine is
		t.Fatalf("%d events and %d schedules", len(times), len(schedules))
	}
	s := schedules[0]
	if !s.Passed.Equal(times[0]) || !s.At.Equal(times[0]) || !s.Since.Equal(times[len(times)-1].Add(-time.Second)) {
		t.Errorf("the file says %+v, the events are from %v to %v", s, times[len(times)-1], times[0])
	}
	for i := 1; i < len(times); i++ {
		if times[i-1].Sub(times[i]) != time.Second {
			t.Fatalf("%v is followed by %v", times[i], times[i-1])
		}
	}
}
