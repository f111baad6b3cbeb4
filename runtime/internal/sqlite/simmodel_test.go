package sqlite

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// fate is what the test knows about whether events are stored.
type fate int

const (
	unknown fate = iota // the power failed in between
	stored
	refused
)

// call is an Append, or the events staged with a success: all of them are
// stored or none.
type call struct {
	ids    []uuid.UUID
	fate   fate
	parent *pair // whose success staged them
}

// event is one that was published or staged, stored or not.
type one struct {
	engine.Record
	call *call
}

// pair is an event and a subscription.
type pair struct {
	event    *one
	consumer string

	handed int // the last life in which it was handed out
	begun  int // the last life in which an attempt began
	// claimed is the last life with an attempt of which the claims survived
	// the power cut, and interrupted one that they said was going on.
	claimed, interrupted int
	ran                  []*pair // that were at work when the last one was interrupted; nil for one that was left behind
	crashed              bool    // its last attempt that counted ended with the process
	disposition          engine.DispositionKind
	life                 int // of the disposition
	due                  time.Time
	staged               *call

	// A disposition goes through these on its way to the disk. Once sealed, no
	// power cut undoes it.
	written, sealed bool

	failures int // charged by dispositions, lost ones too
	counted  int // by the engine, as of the last disposition
	atLeast  int // as of the last one that is sealed
	runs     int // executions that the engine has to know of, as of the last disposition
	// runsAtLeast are those as of the last disposition that is sealed.
	runsAtLeast int
	crashes     int // lives that ended with an attempt begun
}

func (p *pair) String() string {
	return fmt.Sprintf("event %d (%s) for %s", p.event.Seq, p.event.ID, p.consumer)
}

// model is what was promised.
type model struct {
	events map[uuid.UUID]*one
	calls  []*call
	pairs  map[string]map[uuid.UUID]*pair // by consumer
	keyed  []uuid.UUID                    // published with an idempotency key
	next   uint64
	newest int64 // seq of the newest event known to be stored
}

func newModel() *model {
	return &model{events: map[uuid.UUID]*one{}, pairs: map[string]map[uuid.UUID]*pair{}}
}

// records makes events that look like real ones, with ids that grow.
func (m *model) records(s *sim, types []string, n, size int) []engine.Record {
	records := make([]engine.Record, n)
	for i := range records {
		records[i] = engine.Record{
			ID: m.newID(), Type: types[s.IntN(len(types))], CreatedAt: time.Now().UTC(),
			Payload: fmt.Appendf(nil, `{"number":%d,"text":"%s"}`, m.next, strings.Repeat("x", s.IntN(size+1))),
		}
		if s.chance(30) {
			records[i].Metadata = []byte(`{"source":"simulation"}`)
		}
		if s.chance(5) {
			records[i].Due = time.Now().Add([]time.Duration{time.Millisecond, 20 * time.Millisecond, 2 * time.Second}[s.IntN(3)])
		}
		if s.chance(5) {
			records[i].Dedupe = &engine.Dedupe{Key: records[i].ID.String(), Expires: time.Now().Add(24 * time.Hour)}
			m.keyed = append(m.keyed, records[i].ID)
		}
	}
	return records
}

// newID returns an id that is greater than those before.
func (m *model) newID() (id uuid.UUID) {
	m.next++
	binary.BigEndian.PutUint64(id[8:], m.next)
	return id
}

// add notes events that are about to be published or staged.
func (m *model) add(records []engine.Record, parent *pair) *call {
	c := &call{parent: parent}
	for _, r := range records {
		c.ids = append(c.ids, r.ID)
		m.events[r.ID] = &one{Record: r, call: c}
	}
	m.calls = append(m.calls, c)
	return c
}

// pair returns what is known of an event and a subscription.
func (m *model) pair(consumer string, e *one) *pair {
	pairs := m.pairs[consumer]
	if pairs == nil {
		pairs = map[uuid.UUID]*pair{}
		m.pairs[consumer] = pairs
	}
	p := pairs[e.ID]
	if p == nil {
		p = &pair{event: e, consumer: consumer}
		pairs[e.ID] = p
	}
	return p
}

// each calls f with every pair.
func (m *model) each(f func(p *pair)) {
	for _, pairs := range m.pairs {
		for _, p := range pairs {
			f(p)
		}
	}
}

// flushed is told that every disposition of a life is in the file. A success that published is
// on the disk then, and with it whatever was in the file before.
func (m *model) flushed(life int) {
	var published []*pair
	m.each(func(p *pair) {
		if !p.written && p.disposition != 0 && p.life == life && p.staged != nil {
			published = append(published, p)
		}
	})
	if len(published) > 0 {
		m.synced()
	}
	m.each(func(p *pair) { p.written = p.written || p.disposition != 0 && p.life == life })
	for _, p := range published {
		p.seal()
	}
}

// synced is told that everything in the file is on the disk.
func (m *model) synced() {
	m.each(func(p *pair) {
		if p.written {
			p.seal()
		}
	})
}

// seal says that the disposition is on the disk.
func (p *pair) seal() {
	if !p.sealed {
		p.sealed, p.atLeast, p.runsAtLeast = true, p.counted, p.runs
	}
	if p.staged != nil {
		p.staged.fate = stored
	}
}

// died is told that the life has ended. Dispositions that were not sealed may
// have been lost.
func (m *model) died(life int) {
	m.each(func(p *pair) {
		if p.begun == life {
			p.crashes++
		}
		p.written = false
	})
}

// alone says that only this one was at work when the power failed.
func (p *pair) alone() bool { return len(p.ran) == 1 }

// besides says that another one was at work too, whose event is still there.
func (p *pair) besides() bool {
	return slices.ContainsFunc(p.ran, func(other *pair) bool { return other != nil && other != p && other.event.call.fate == stored })
}

// final says that the pair must never be handed out again.
func (p *pair) final() bool {
	return p.sealed && (p.disposition == engine.Done || p.disposition == engine.Dead)
}
