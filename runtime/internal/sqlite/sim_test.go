package sqlite

import (
	"flag"
	"fmt"
	"github.com/busgen/busgen/internal/short"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/simfs"
)

// The simulations run the engine on a disk in memory, under virtual time, and
// draw everything from a seed. What they print on failure names the seed:
//
//	go test ./runtime/internal/sqlite -run PowerCut -sim.seed 4711
//	go test ./runtime/internal/sqlite -run PowerCut -sim.rounds 50000 -timeout 1h
var (
	simSeed   = flag.Uint64("sim.seed", 0, "run the simulations with this seed only")
	simRounds = short.Flag("sim.rounds", 1200, 60, "how many seeds the simulations of power cuts run")
	simFaults = short.Flag("sim.faults", 2100, 150, "how many faults are injected")
	simKeep   = flag.String("sim.keep", "", "folder for the files that a failed simulation leaves")
)

// simulate runs round for every seed, on all processors. Each has a bubble of
// virtual time and a folder of its own.
func simulate(t *testing.T, seeds []uint64, round func(s *sim)) {
	if *simSeed != 0 {
		seeds = []uint64{*simSeed}
	}
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		t.Run(fmt.Sprintf("worker %d", worker+1), func(t *testing.T) {
			t.Parallel()
			for at := worker; at < len(seeds); at += workers {
				synctest.Test(t, func(t *testing.T) {
					round(newSim(t, seeds[at]))
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// sim is one simulated machine: a disk, the engine on it, and what the test
// knows about both.
type sim struct {
	*testing.T
	*rand.Rand
	seed  uint64
	path  string
	fs    *simfs.FS
	log   *Log
	lives int
	// looked is the image that is being looked at instead of the disk.
	looked simfs.Image
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), seed: seed, path: filepath.Join(t.TempDir(), "events.db")}
	t.Cleanup(s.end)
	return s
}

// end leaves nothing running, however the test ends.
func (s *sim) end() {
	s.abandon()
	if s.fs != nil {
		s.fs.Unregister()
	}
}

// abandon ends the engine of a life whose disk nobody will look at again. Its
// goroutines have to end before the bubble does.
func (s *sim) abandon() {
	if s.log == nil {
		return
	}
	s.fs.Heal()
	time.Sleep(time.Second) // until it has noticed
	s.log.Close()
	s.log = nil
}

// fail ends the test with what is needed to see it again.
func (s *sim) fail(format string, args ...any) {
	s.Helper()
	if *simKeep != "" {
		image := s.looked
		if image == nil {
			image = s.fs.Kill()
		}
		for name, content := range image {
			kept := filepath.Join(*simKeep, fmt.Sprintf("seed-%d-%s", s.seed, filepath.Base(name)))
			if err := os.WriteFile(kept, content, 0o644); err != nil {
				s.Error(err)
			}
		}
	}
	s.Fatalf("%s\n\tsee it again with -run %s -sim.seed %d", fmt.Sprintf(format, args...), s.test(), s.seed)
}

// test names the top-level test.
func (s *sim) test() string {
	name, _, _ := strings.Cut(s.Name(), "/")
	return name
}

// trace says what happens, when one seed is looked at.
func (s *sim) trace(format string, args ...any) {
	if s.seed != 0 && s.seed == *simSeed {
		s.Helper()
		s.Logf("life %d, change %d: %s", s.lives, s.fs.Count(simfs.Changes), fmt.Sprintf(format, args...))
	}
}

func (s *sim) must(err error) {
	s.Helper()
	if err != nil {
		s.fail("%v", err)
	}
}

// chance is true so often in a hundred times.
func (s *sim) chance(percent int) bool { return s.IntN(100) < percent }

// boot puts the image on a fresh disk.
func (s *sim) boot(image simfs.Image) {
	if s.fs != nil {
		s.fs.Unregister()
	}
	s.fs = simfs.New(filepath.Dir(s.path), image)
}

// raw opens the file past the engine, as a shell would.
func (s *sim) raw(fs *simfs.FS) *sqlite3.Conn {
	s.Helper()
	c, err := simRaw(s.path, fs)
	s.must(err)
	return c
}

func simRaw(path string, fs *simfs.FS) (*sqlite3.Conn, error) {
	return sqlite3.Open("file:" + (&url.URL{Path: path}).EscapedPath() + "?vfs=" + url.QueryEscape(fs.Name()))
}

// rows runs a query and returns its rows as text.
func (s *sim) rows(c *sqlite3.Conn, sql string) (rows [][]string) {
	s.Helper()
	stmt, _, err := c.Prepare(sql)
	s.must(err)
	defer stmt.Close()
	for stmt.Step() {
		row := make([]string, stmt.ColumnCount())
		for i := range row {
			row[i] = stmt.ColumnText(i)
		}
		rows = append(rows, row)
	}
	s.must(stmt.Err())
	return rows
}

// base is an image with an empty log in it, which spares most rounds its
// making.
func (s *sim) base() simfs.Image {
	s.Helper()
	baseOnce.Do(func() {
		fs := simfs.New(filepath.Dir(s.path), nil)
		defer fs.Unregister()
		log, err := Open(s.path, Options{VFS: fs.Name()})
		s.must(err)
		s.must(log.Close())
		baseFile = fs.Kill()[s.path]
	})
	return simfs.Image{s.path: baseFile}
}

var (
	baseOnce sync.Once
	baseFile []byte
)

// counter counts what the rounds of a test did, so that its output says what
// was tried.
type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counter) count(what string, n ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	if len(n) == 0 {
		n = []int{1}
	}
	c.counts[what] += n[0]
}

func (c *counter) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[what]
}

func (c *counter) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.counts[what], what))
	}
	return strings.Join(parts, ", ")
}
