package otherdrivers

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// order is the payload of the events.
type order struct {
	Number int `json:"number"`
}

func (order) Validate() error { return nil }

var placed = runtime.Define(runtime.Spec[order]{Name: "order.placed", Settings: declare.DefaultSettings()})

// shop is a bus with a table of orders, whose handler notes when it was called.
type shop struct {
	*testing.T
	*runtime.Bus
	path string

	mu      sync.Mutex
	numbers []int // in the order in which they were handled
	at      map[int]time.Time
	called  chan struct{}
}

func open(t *testing.T) *shop {
	s := &shop{T: t, path: filepath.Join(t.TempDir(), "shop.db"), at: map[int]time.Time{}, called: make(chan struct{}, 10_000)}
	bus, err := runtime.Open(t.Context(), s.path, runtime.NewCatalogue(placed))
	s.must(err)
	s.Bus = bus
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	_, err = runtime.DB(bus).Exec("CREATE TABLE orders (number INTEGER PRIMARY KEY)")
	s.must(err)
	_, err = runtime.Subscribe(bus, placed, "notes", func(_ context.Context, e runtime.Event[order]) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.numbers = append(s.numbers, e.Payload.Number)
		s.at[e.Payload.Number] = time.Now()
		s.called <- struct{}{}
		return nil
	})
	s.must(err)
	s.must(bus.Start(t.Context()))
	return s
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// median returns the middle of the times between the commits of orders and their handling.
func (s *shop) median(committed map[int]time.Time) time.Duration {
	for range committed {
		<-s.called
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var took []time.Duration
	for n, at := range committed {
		took = append(took, s.at[n].Sub(at))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// folder is where the program is.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "otherdrivers"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// child builds the program, once.
var child = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "child")
	if said, err := exec.Command("go", "build", "-o", path, "./child").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return path, nil
})

// run runs the program with a driver, and returns which orders it has committed, and when.
func (s *shop) run(driver string, orders int) map[int]time.Time {
	s.Helper()
	program, err := child()
	s.must(err)
	c := exec.CommandContext(s.Context(), program, driver, s.path, strconv.Itoa(orders))
	var said, failed bytes.Buffer
	c.Stdout, c.Stderr = &said, &failed
	if err := c.Run(); err != nil {
		if strings.Contains(failed.String(), "CGO_ENABLED=0") {
			s.Skip("there is no C compiler here, which this driver needs")
		}
		s.Fatalf("%v: %s", err, failed.String())
	}
	committed := map[int]time.Time{}
	for line := range strings.Lines(said.String()) {
		var n int
		var at int64
		if _, err := fmt.Sscan(line, &n, &at); err != nil {
			s.Fatal(err)
		}
		committed[n] = time.Unix(0, at)
	}
	return committed
}

func TestAProcessWithAnotherDriverPublishesWhileTheBusRuns(t *testing.T) {
	for _, driver := range []string{"sqlite3", "sqlite"} { // of mattn, and of modernc
		t.Run(driver, func(t *testing.T) {
			s := open(t)
			committed := s.run(driver, 60)
			t.Logf("p50 from the commit to the handler: %v", s.median(committed))
			want := slices.Sorted(maps.Keys(committed))
			var rows int
			s.must(runtime.DB(s.Bus).QueryRow("SELECT count(*) FROM orders").Scan(&rows))
			s.must(s.WaitIdle(t.Context()))
			s.must(s.Shutdown(t.Context()))
			if !slices.Equal(s.numbers, want) || len(want) != 40 || rows != 40 {
				t.Errorf("handled was %v, of %d rows; want %v", s.numbers, rows, want)
			}
		})
	}
}
