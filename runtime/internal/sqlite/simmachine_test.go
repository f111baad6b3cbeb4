package sqlite

import (
	"slices"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// machine is a simulated computer with the engine at work on it: every call of
// the engine is noted, and what it returns is compared with the model.
type machine struct {
	*sim
	*model
	*counter
	consumers []*worker
	held      []*polled
	// failed judges an error of the engine. It ends the test unless there is
	// a reason for it.
	failed func(doing string, err error)
	// inDoubt says that an event may be stored although its publisher was
	// told otherwise: the power failed in between.
	inDoubt func() bool
}

// worker is a subscription and who polls it.
type worker struct {
	spec     engine.ConsumerSpec
	consumer engine.Consumer
	pattern  glob.Pattern
	first    int64     // seq of the newest event handed out for the first time in this life
	busy     []*polled // by number of the worker; nil for one that is free
}

// leftBehind stands for a handler that still runs although its attempt has failed.
var leftBehind = &polled{}

// polled is a delivery at hand.
type polled struct {
	*engine.Delivery
	*pair
	worker *worker
	place  int // its worker's number, once begun
}

var simTypes = []string{"order.placed", "order.paid", "user.created"}

// start opens the log to dispatch from it, and reports false if that failed
// for a reason.
func (m *machine) start() bool {
	log, err := Open(m.path, Options{VFS: m.fs.Name()})
	if err != nil {
		m.failed("open", err)
		return false
	}
	m.log, m.consumers, m.held = log, nil, nil
	if err := log.Declare(m.Context(), typesNamed(simTypes...), nil); err != nil {
		m.failed("declare types", err)
		return false
	}
	for _, spec := range []engine.ConsumerSpec{
		{Name: "audit", Pattern: "*", FromBeginning: true},
		{Name: "orders", Pattern: "order.*", FromBeginning: true},
	} {
		consumer, err := log.Consumer(m.Context(), spec)
		if err != nil {
			m.failed("subscribe", err)
			return false
		}
		pattern, err := glob.Parse(spec.Pattern)
		m.must(err)
		m.consumers = append(m.consumers, &worker{spec: spec, consumer: consumer, pattern: pattern})
	}
	if _, err := log.TakeOver(m.Context()); err != nil {
		m.failed("take over", err)
		return false
	}
	return true
}

// publish appends n events at once, with payloads of about that size.
func (m *machine) publish(n, size int) {
	records := m.records(m.sim, simTypes, n, size)
	call := m.add(records, nil)
	m.published(call, records, m.log.Append(m.Context(), records))
}

// published notes how an Append ended.
func (m *machine) published(c *call, records []engine.Record, err error) {
	m.Helper()
	m.trace("publish %d: %v", len(records), err)
	if err != nil {
		m.failed("publish", err)
		if !m.inDoubt() {
			c.fate = refused
		}
		return
	}
	m.count("events acknowledged", len(records))
	c.fate = stored
	for _, record := range records {
		if record.Seq <= m.newest {
			m.fail("life %d: an event was given number %d after number %d", m.lives, record.Seq, m.newest)
		}
		m.newest = record.Seq
		m.events[record.ID].Seq = record.Seq
	}
	m.synced()
}

// publishTogether makes several publishers wait behind the sync of one, so
// that they share the next transaction.
func (m *machine) publishTogether() {
	type result struct {
		call    *call
		records []engine.Record
		err     error
	}
	n := 2 + m.IntN(4)
	results := make([]result, n)
	release := m.fs.Hold()
	for i := range results {
		one := &results[i]
		one.records = m.records(m.sim, simTypes, 1+m.IntN(2), 100)
		one.call = m.add(one.records, nil)
		go func() { one.err = m.log.Append(m.Context(), one.records) }()
		synctest.Wait()
	}
	release()
	synctest.Wait()
	// Within a transaction all are stored, or none; which of them shared one
	// is the engine's business.
	for _, one := range results {
		m.published(one.call, one.records, one.err)
	}
}

// publishAgain sends an event a second time under its idempotency key.
func (m *machine) publishAgain() {
	if len(m.keyed) == 0 {
		return
	}
	first := m.events[m.keyed[m.IntN(len(m.keyed))]]
	again := first.Record
	again.ID, again.Due = m.newID(), time.Time{}
	records := []engine.Record{again}
	call := m.add(records, nil)
	err := m.log.Append(m.Context(), records)
	m.trace("publish %s again: %v", first.ID, err)
	switch {
	case err != nil:
		m.failed("publish again", err)
		if !m.inDoubt() || first.call.fate == stored {
			call.fate = refused
		}
	case first.call.fate == stored && (!records[0].Duplicate || records[0].ID != first.ID):
		m.fail("life %d: event %s was stored with its key, and was not known any more", m.lives, first.ID)
	case first.call.fate == refused && records[0].Duplicate && records[0].ID == first.ID:
		m.fail("life %d: the key of event %s is remembered, and it was never stored", m.lives, first.ID)
	case records[0].Duplicate:
		call.fate = refused // it is there under the first one's name
		m.count("duplicates")
	default:
		m.published(call, records, nil)
	}
}

// poll takes deliveries, and checks that each may be handed out.
func (m *machine) poll(w *worker, limit int) int {
	deliveries, _, err := w.consumer.Poll(nil, limit)
	if err != nil {
		m.failed("poll", err)
	}
	for _, d := range deliveries {
		m.held = append(m.held, m.check(w, d))
	}
	return len(deliveries)
}

// check compares a delivery with all that is known.
func (m *machine) check(w *worker, d *engine.Delivery) *polled {
	m.Helper()
	e := m.events[d.ID]
	if e == nil || e.call.fate == refused {
		m.fail("life %d: %s was handed event %d (%s), which was never stored", m.lives, w.spec.Name, d.Seq, d.ID)
	}
	if e.Seq == 0 {
		e.Seq = d.Seq // of a call that the cut interrupted
	}
	p := m.pair(w.spec.Name, e)
	again := p.interrupted > 0 && p.handed < m.lives && p.interrupted == m.lives-1
	switch {
	case d.Seq != e.Seq, d.Type != e.Type, string(d.Payload) != string(e.Payload), string(d.Metadata) != string(e.Metadata), d.CreatedAt.UnixMicro() != e.CreatedAt.UnixMicro():
		m.fail("life %d: %v has changed: %+v, was %+v", m.lives, p, d.Record, e.Record)
	case !w.pattern.Match(d.Type):
		m.fail("life %d: %v is of type %s", m.lives, p, d.Type)
	case p.final():
		m.fail("life %d: %v was settled in life %d, synced, and is handed out again", m.lives, p, p.life)
	case p.handed == m.lives && p.disposition != engine.Retry && p.disposition != engine.Release:
		m.fail("life %d: %v is handed out twice", m.lives, p)
	case p.life == m.lives && p.disposition == engine.Retry && time.Now().Before(p.due):
		m.fail("life %d: %v is handed out %v too early", m.lives, p, time.Until(p.due))
	case time.Now().Before(e.Due):
		m.fail("life %d: %v is delayed and %v too early", m.lives, p, time.Until(e.Due))
	case p.handed == 0 && e.Due.IsZero() && d.Seq <= w.first:
		m.fail("life %d: %v comes after event %d", m.lives, p, w.first)
	case d.Failures < p.atLeast:
		m.fail("life %d: %v has %d failures, %d were synced", m.lives, p, d.Failures, p.atLeast)
	case d.Failures > p.failures+p.crashes:
		m.fail("life %d: %v has %d failures, %d were recorded and %d crashes interrupted it", m.lives, p, d.Failures, p.failures, p.crashes)
	case d.Failures+d.Uncounted < p.runsAtLeast:
		m.fail("life %d: %v comes after %d executions, and %d were synced", m.lives, p, d.Failures+d.Uncounted, p.runsAtLeast)
	case (d.Crashed || d.Suspect) && p.crashes == 0:
		m.fail("life %d: %v is taken for the cause of a crash, and was not at work", m.lives, p)
	case again && !d.Suspect:
		m.fail("life %d: %v was at work when the power failed, and is no suspect", m.lives, p)
	case again && p.alone() && !d.Crashed:
		m.fail("life %d: %v was at work alone when the power failed, and that does not count", m.lives, p)
	case again && p.besides() && d.Crashed && !p.crashed:
		m.fail("life %d: %v was at work with %d others when the power failed, and that counts", m.lives, p, len(p.ran)-1)
	case p.claimed > 0 && p.handed < m.lives && p.claimed == m.lives-1 && d.Uncounted == 0 && d.Failures == 0:
		m.fail("life %d: %v was handled before the power failed, and comes as if it never was", m.lives, p)
	}
	p.crashed = d.Crashed
	if p.handed == 0 && e.Due.IsZero() {
		w.first = d.Seq
	}
	m.trace("%v is handed out, with %d failures", p, d.Failures)
	p.handed, p.disposition, p.written, p.sealed = m.lives, 0, false, false
	return &polled{Delivery: d, pair: p, worker: w}
}

// begin starts an attempt, by the first worker that is free.
func (m *machine) begin(d *polled) {
	w := d.worker
	d.place = slices.Index(w.busy, nil)
	if d.place < 0 {
		d.place, w.busy = len(w.busy), append(w.busy, nil)
	}
	w.busy[d.place], d.pair.begun = d, m.lives
	w.consumer.Begin([]*engine.Delivery{d.Delivery}, []int{d.place}, time.Now())
}

// begun says whether an attempt at d has started.
func (d *polled) begun() bool { return slices.Contains(d.worker.busy, d) }

// settle gives a disposition.
func (m *machine) settle(d *polled, v engine.Disposition) {
	p := d.pair
	p.disposition, p.life, p.due, p.written, p.sealed, p.staged = v.Kind, m.lives, v.Due, false, false, nil
	p.counted, p.runs = d.Failures, d.Failures+d.Uncounted
	if v.Attempt != nil {
		p.failures++
		p.counted++
	}
	if d.begun() {
		p.runs, p.crashed = p.runs+1, false
	}
	if len(v.Staged) > 0 {
		p.staged = m.add(v.Staged, p)
	}
	m.trace("%v: disposition %d, %d staged", p, v.Kind, len(v.Staged))
	if begun, left := d.begun(), v.Attempt != nil && m.chance(20); begun && left {
		d.worker.busy[d.place] = leftBehind
	} else if begun {
		d.worker.consumer.End([]*engine.Delivery{d.Delivery})
		d.worker.busy[d.place] = nil
	}
	d.worker.consumer.Settle(engine.Settled{Delivery: d.Delivery, Disposition: v}, nil)
	m.count("dispositions")
}

// flush writes the dispositions that were given.
func (m *machine) flush() {
	err := m.log.Flush(m.Context())
	m.trace("flush: %v", err)
	if err != nil {
		m.failed("flush", err)
		return
	}
	m.flushed(m.lives)
}
