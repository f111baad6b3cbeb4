package sqlite

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// inspect looks at what a power cut has left, without the engine. It finds
// out what became of what was interrupted.
func (m *machine) inspect(image simfs.Image) {
	m.looked = image
	defer func() { m.looked = nil }()
	fs := simfs.New(filepath.Dir(m.path), image)
	defer fs.Unregister()
	c := m.raw(fs)
	defer c.Close()
	if found := m.rows(c, "PRAGMA integrity_check"); len(found) != 1 || found[0][0] != "ok" {
		m.fail("life %d: the file is damaged: %q", m.lives, found)
	}
	present := map[string]bool{}
	if tables := m.rows(c, "SELECT count(*) FROM sqlite_schema"); tables[0][0] != "0" {
		for _, row := range m.rows(c, "SELECT id FROM events") {
			present[row[0]] = true
		}
	}
	for _, call := range m.calls {
		n := 0
		for _, id := range call.ids {
			if present[id.String()] {
				n++
			}
		}
		switch {
		case n != 0 && n != len(call.ids):
			m.fail("life %d: of a batch of %d events %d are stored", m.lives, len(call.ids), n)
		case n == 0 && call.fate == stored:
			m.fail("life %d: acknowledged event %d (%s) is lost", m.lives, m.events[call.ids[0]].Seq, call.ids[0])
		case n > 0 && call.fate == refused:
			m.fail("life %d: event %s was refused and is stored", m.lives, call.ids[0])
		case n > 0 && call.fate == unknown:
			call.fate = stored
			m.count("interrupted calls that were stored")
			if p := call.parent; p != nil && p.staged == call {
				p.sealed = true // its success is in the same transaction
			}
		case n == 0 && call.fate == unknown:
			call.fate = refused
			m.count("interrupted calls that were not stored")
			if p := call.parent; p != nil && p.staged == call {
				p.disposition, p.staged = 0, nil // so its success is not there either
			}
		}
	}
}

// recover runs the last life: without a cut, everything can be settled.
func (m *machine) recover() {
	if !m.start() {
		m.fail("the log does not open")
	}
	m.drain()
	m.everythingIsSettled()
	m.publish(1, 10) // it works
	m.must(m.log.Close())
	m.inspect(m.fs.Kill())
}

// drain settles whatever is handed out until nothing is left.
func (m *machine) drain() {
	for rounds := 0; ; rounds++ {
		found := 0
		for _, w := range m.consumers {
			found += m.poll(w, 1+m.IntN(20))
		}
		for _, d := range m.held {
			m.begin(d)
			m.settle(d, engine.Disposition{Kind: engine.Done})
		}
		m.held = nil
		m.flush()
		if found > 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(m.Context(), time.Second)
		err := m.log.WaitSettled(ctx, []engine.Consumer{m.consumers[0].consumer, m.consumers[1].consumer})
		cancel()
		if err == nil {
			break
		}
		if rounds > 1000 {
			m.fail("after the crash the deliveries do not settle: %v", err)
		}
	}
}

// everythingIsSettled checks that each stored event was handed to everyone it
// was for, in this life or settled in an earlier one.
func (m *machine) everythingIsSettled() {
	for _, e := range m.events {
		if e.call.fate != stored {
			continue
		}
		for _, w := range m.consumers {
			p := m.pair(w.spec.Name, e)
			settled := p.disposition == engine.Done || p.disposition == engine.Dead
			if w.pattern.Match(e.Type) && !settled {
				m.fail("%v is neither settled nor handed out", p)
			}
		}
	}
	c := m.raw(m.fs)
	defer c.Close()
	for _, row := range m.rows(c, "SELECT status, count(*) FROM events WHERE status NOT IN ('done', 'dlq') GROUP BY status") {
		m.fail("%s events are %s after everything was settled", row[1], row[0])
	}
	dead := 0
	m.each(func(p *pair) {
		if p.final() && p.disposition == engine.Dead {
			dead++
		}
	})
	found := m.rows(c, "SELECT count(*) FROM dead_letters")
	if n, _ := strconv.Atoi(found[0][0]); n < dead {
		m.fail("%d dead letters are left of at least %d", n, dead)
	}
}
