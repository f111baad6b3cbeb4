package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

var (
	tortureSeed   = flag.Uint64("torture.seed", 1, "the first seed")
	tortureRounds = flag.Int("torture.rounds", 3, "how many seeds")
	tortureEvents = flag.Int("torture.events", 300, "how many events each")
)

// What the handler of an order does, by the number of the order.
func fails(n int) int      { return map[bool]int{true: n % 3, false: 0}[n%7 == 3] } // attempts before it succeeds
func permanent(n int) bool { return n%23 == 5 }
func hasChild(n int) bool  { return n%3 == 0 && !permanent(n) && !poison(n) }
func poison(n int) bool    { return n%97 == 50 }
func slow(n int) bool      { return n%11 == 2 }

// torture is one life of a bus whose processes are killed, stopped and cut off.
type torture struct {
	t      *testing.T
	server *servertest.Server
	random *rand.Rand
	dial   func() (*nats.Conn, error) // for the checker
	spare  bool                       // poison events do no harm

	mu        sync.Mutex
	acked     map[int]int // how often the publication of an order was acknowledged
	succeeded map[int]int // how often the handler of an order has returned nil
}

// worker is a process that handles orders.
type worker struct {
	bus  *runtime.Bus
	line *servertest.Line
}

func (x *torture) open() (*worker, error) {
	w := &worker{line: x.server.Line()}
	through := jetstream.Through(func(string) (*nats.Conn, error) {
		return w.line.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	})
	bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)),
		jetstream.Engine(through, jetstream.InMemory()))
	w.bus = bus
	return w, err
}

// start makes a worker handle orders.
func (x *torture) start(w *worker) {
	_, err := runtime.Subscribe(w.bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		n := e.Payload.Number
		if slow(n) {
			time.Sleep(50 * time.Millisecond)
		}
		switch {
		case poison(n) && !x.spare:
			w.line.Cut() // the process ends
			<-ctx.Done()
			return ctx.Err()
		case permanent(n):
			return runtime.Permanent(errors.New("never"))
		case e.Attempt <= fails(n):
			return errors.New("not yet")
		}
		if hasChild(n) {
			if _, err := runtime.Publish(ctx, w.bus, conformance.PaidType, conformance.OrderPaid{OrderID: fmt.Sprint(n)}); err != nil {
				return err
			}
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.succeeded[n]++
		return nil
	}, runtime.FromBeginning(), runtime.WithConcurrency(4), runtime.WithRetry(retry.MaxAttempts(8), retry.BaseDelay(time.Second)))
	if err != nil {
		x.t.Error(err)
	}
	if err := w.bus.Start(context.Background()); err != nil {
		x.t.Log(err)
	}
}

// end ends a worker that was killed.
func (w *worker) end() {
	w.line.Cut()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.bus.Shutdown(ctx)
}

func (x *torture) run(events int) (kills int) {
	publisher, err := x.open()
	if err != nil {
		x.t.Fatal(err)
	}
	defer publisher.bus.Shutdown(context.Background())
	published := make(chan struct{})
	go func() {
		defer close(published)
		for n := range events {
			_, err := runtime.Publish(context.Background(), publisher.bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A", Number: n})
			if err == nil {
				x.acked[n]++
			}
			time.Sleep(time.Duration(n%5) * 10 * time.Millisecond)
		}
	}()
	for {
		w, err := x.open()
		if err != nil {
			x.t.Fatal(err)
		}
		last := false
		select {
		case <-published:
			last = true
		default:
		}
		if !last && x.random.IntN(2) == 0 { // it dies in the middle of its work
			w.line.CutAfter(x.random.IntN(400))
		}
		x.start(w)
		select {
		case <-time.After(time.Duration(x.random.IntN(3000)) * time.Millisecond):
		case <-published:
			// The last one works until all is done, unless a poison event ends it.
			idle, cancel := context.WithTimeout(context.Background(), time.Minute)
			err := w.bus.WaitIdle(idle)
			cancel()
			if err == nil {
				w.bus.Shutdown(context.Background())
				return kills
			}
		}
		kills++
		switch x.random.IntN(4) {
		case 0: // it goes on after another has taken over
			w.line.Freeze()
			go func() {
				time.Sleep(20 * time.Second)
				w.line.Thaw()
				time.Sleep(time.Second)
				w.end()
			}()
		case 1:
			w.bus.Shutdown(context.Background())
		default:
			w.end()
		}
	}
}

func TestNothingIsLostOrDoubledHoweverProcessesEnd(t *testing.T) {
	for round := range *tortureRounds {
		seed := *tortureSeed + uint64(round)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &torture{t: t, server: servertest.Start(t, t.TempDir()), random: rand.New(rand.NewPCG(seed, 0)), acked: map[int]int{}, succeeded: map[int]int{}}
				x.dial = func() (*nats.Conn, error) { return x.server.Connect() }
				kills := x.run(*tortureEvents)
				time.Sleep(time.Minute) // those that were frozen end
				problems, counts := x.check(*tortureEvents)
				for _, problem := range problems {
					t.Error(problem)
				}
				t.Log(kills, "processes ended;", counts)
			})
		})
	}
}

// check reads the stream, and shares no code with the engine.
func (x *torture) check(events int) (problems []string, counts string) {
	nc, err := x.dial()
	if err != nil {
		x.t.Fatal(err)
	}
	defer nc.Close()
	client, _ := js.New(nc)
	s, err := client.Stream(context.Background(), "bus")
	if err != nil {
		x.t.Fatal(err)
	}
	info, _ := s.Info(context.Background())
	stored, children, dead := map[int]int{}, map[string]int{}, map[int]string{}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(context.Background(), seq)
		if errors.Is(err, js.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			x.t.Fatal(err)
		}
		switch kind := strings.Split(m.Subject, ".")[1]; kind {
		case "e":
			var payload struct {
				Number  int    `json:"number"`
				OrderID string `json:"order_id"`
			}
			json.Unmarshal(m.Data, &payload)
			if m.Header.Get("Busgen-Type") == "order.paid" {
				children[payload.OrderID]++
			} else {
				stored[payload.Number]++
			}
		case "d":
			var row struct {
				State, Reason string
				Payload       []byte
			}
			json.Unmarshal(m.Data, &row)
			var payload struct {
				Number int `json:"number"`
			}
			json.Unmarshal(row.Payload, &payload)
			if row.State == "dead" {
				dead[payload.Number] += row.Reason
			} else if row.State == "waiting" || row.State == "held" {
				problems = append(problems, fmt.Sprintf("order %d is still open", payload.Number))
			}
		}
	}
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	x.mu.Lock()
	defer x.mu.Unlock()
	for n := range events {
		if x.acked[n] != 1 || stored[n] != 1 {
			add("order %d was acknowledged %d times and is stored %d times", n, x.acked[n], stored[n])
		}
		want := ""
		switch {
		case poison(n) && !x.spare:
			want = "crash"
		case permanent(n):
			want = "permanent"
		}
		if dead[n] != want {
			add("order %d is dead because of %q, want %q", n, dead[n], want)
		}
		if want == "" && x.succeeded[n] == 0 {
			add("order %d was never handled", n)
		}
		if got := children[fmt.Sprint(n)]; got != map[bool]int{true: 1, false: 0}[hasChild(n)] {
			add("order %d has %d children", n, got)
		}
	}
	return problems, fmt.Sprintf("%d stored, %d children, %d dead", len(stored), len(children), len(dead))
}
