package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// rated is a log with rates, and a clock that the test sets.
type rated struct {
	*testing.T
	log  *Log
	wall time.Time
}

func newRated(t *testing.T) *rated {
	r := &rated{T: t, wall: time.Now()}
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{Wall: func() time.Time { return r.wall }})
	must(t, err)
	t.Cleanup(func() { log.Close() })
	r.log = log
	return r
}

// lease leases so much of a rate for each of these keys.
func (r *rated) lease(ahead time.Duration, keys ...string) {
	r.Helper()
	var leases []engine.LimitLease
	for _, key := range keys {
		leases = append(leases, engine.LimitLease{Limit: "mail", Key: key, Rate: engine.LimitRate{Step: ahead, Span: ahead}})
	}
	must(r.T, r.log.LeaseLimits(r.Context(), func(engine.LimitTime) engine.LimitTime {
		return engine.LimitTime{Now: r.wall, Wall: r.wall}
	}, leases))
}

func (r *rated) rows() (n int64) {
	r.Helper()
	must(r.T, r.log.read(func(c *database.Conn) (err error) {
		n, err = c.Int64("SELECT count(*) FROM busgen_limits")
		return err
	}))
	return n
}

func TestTheFileForgetsTheKeysOfRatesThatAreFullAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRated(t)
		most := int64(0)
		for n := range 2000 {
			r.lease(100*time.Millisecond, fmt.Sprint(n))
			r.wall = r.wall.Add(10 * time.Millisecond)
			most = max(most, r.rows())
		}
		if most > 20 {
			t.Errorf("there were %d rows, and ten keys at a time were used", most)
		}
	})
}

// Nothing is leased any more, because no limit with a rate is left.
func TestPruneAndCompactForgetTheKeysOfRatesThatAreGone(t *testing.T) {
	for _, sweep := range []func(r *rated) error{
		func(r *rated) error { _, err := r.log.Prune(r.Context(), r.wall.Add(-time.Hour)); return err },
		func(r *rated) error { _, err := r.log.Compact(r.Context()); return err },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRated(t)
			var keys []string
			for n := range 1000 {
				keys = append(keys, fmt.Sprint(n))
			}
			r.lease(time.Hour, keys...)
			r.wall = r.wall.Add(2 * time.Hour)
			must(t, sweep(r))
			if n := r.rows(); n != 1000 { // perhaps the wall clock was set
				t.Errorf("%d rows are left after two hours", n)
			}
			r.wall = r.wall.Add(24 * time.Hour)
			must(t, sweep(r))
			if n := r.rows(); n != 0 {
				t.Errorf("%d rows are left after a day", n)
			}
		})
	}
}
