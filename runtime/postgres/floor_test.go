package postgres

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/internal/engine"
)

var floorRounds = short.Flag("floor.rounds", 6_000, 1_000, "how many servers the floor is compared with")

// server is a model of Postgres: transactions that get ids, draw numbers and end.
type server struct {
	*rand.Rand
	nextID, nextSeq uint64
	open            []*transaction
	rows            []int64 // that are committed and not deleted, in order
}

type transaction struct {
	id   uint64 // 0 before it has written
	rows []int64
}

func (s *server) assign(t *transaction) {
	if t.id == 0 {
		t.id = s.nextID
		s.nextID++
	}
}

// step lets some transaction do something.
func (s *server) step() {
	switch n := s.IntN(10); {
	case n < 3:
		s.open = append(s.open, &transaction{})
	case len(s.open) == 0:
	case n < 4:
		s.assign(s.open[s.IntN(len(s.open))]) // it changes a row of the program
	case n < 8: // it publishes
		t := s.open[s.IntN(len(s.open))]
		s.assign(t)
		for range 1 + s.IntN(3) {
			t.rows = append(t.rows, int64(s.nextSeq))
			s.nextSeq++
		}
	default:
		i := s.IntN(len(s.open))
		if s.IntN(4) > 0 {
			s.rows = append(s.rows, s.open[i].rows...)
			slices.Sort(s.rows)
		}
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// look returns what a statement sees.
func (s *server) look(floor int64, most int) (v view) {
	v.open = s.nextID
	for _, t := range s.open {
		if t.id != 0 {
			v.open = min(v.open, t.id)
		}
	}
	for _, seq := range s.rows {
		if seq > floor && len(v.rows) < most {
			v.rows = append(v.rows, engine.Record{Seq: seq})
		}
	}
	v.full = len(v.rows) == most
	return v
}

// below reports whether a row at or below the floor is there, or can still appear.
func (s *server) below(floor int64) bool {
	under := func(seq int64) bool { return seq <= floor }
	return slices.ContainsFunc(s.rows, under) || slices.ContainsFunc(s.open, func(t *transaction) bool { return slices.ContainsFunc(t.rows, under) })
}

// relayed runs a server and a relay with a floor, and reports whether a row got below the floor, and how far the floor
// rose.
func relayed(seed uint64, looked func(f *floor, s *server, v *view, deleted uint64)) (lost bool, rose int64) {
	s := &server{Rand: rand.New(rand.NewPCG(seed, 46)), nextID: 1, nextSeq: 1}
	var f floor
	for range 150 {
		for range s.IntN(4) {
			s.step()
		}
		v := s.look(f.at, 1+s.IntN(6))
		for range s.IntN(3) { // between the look and the deletion
			s.step()
		}
		deleted := uint64(0)
		if len(v.rows) > 0 {
			deleted = s.nextID
			s.nextID++
			s.rows = slices.DeleteFunc(s.rows, func(seq int64) bool {
				return slices.ContainsFunc(v.rows, func(r engine.Record) bool { return r.Seq == seq })
			})
		}
		looked(&f, s, &v, deleted)
		if s.below(f.at) {
			return true, f.at
		}
	}
	return false, f.at
}

func TestTheFloorIsBelowEveryTransaction(t *testing.T) {
	rose := int64(0)
	for seed := range uint64(floorRounds.N()) {
		lost, at := relayed(seed, func(f *floor, _ *server, v *view, deleted uint64) { f.looked(v, deleted) })
		if lost {
			t.Fatalf("seed %d: a row is below the floor %d", seed, at)
		}
		rose += at
	}
	if rose == 0 {
		t.Error("the floor has never risen")
	}
}

// What the test above would let pass: the floor rises as soon as transactions are over, and not after a look that has
// seen that.
func TestAFloorThatRisesTooSoonLosesRows(t *testing.T) {
	for name, looked := range map[string]func(f *floor, s *server, v *view, deleted uint64){
		"by a moment after the look": func(f *floor, s *server, v *view, deleted uint64) {
			now := s.look(f.at, 0)
			v.open, v.full = now.open, false
			f.looked(v, deleted)
		},
		"by the first id that is not known to be over": func(f *floor, s *server, v *view, deleted uint64) {
			if deleted > 0 {
				deleted = v.open
			}
			f.looked(v, deleted)
		},
		"before all that the look may see is brought": func(f *floor, _ *server, v *view, deleted uint64) {
			v.full = false
			f.looked(v, deleted)
		},
	} {
		lost := false
		for seed := uint64(0); seed < 2_000 && !lost; seed++ {
			lost, _ = relayed(seed, looked)
		}
		if !lost {
			t.Errorf("%s: no row was lost", name)
		}
	}
}
