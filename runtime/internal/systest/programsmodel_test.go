package systest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// writeDelay is how long a success may stay in memory.
const writeDelay = 5 * time.Millisecond

// What must be true of a file that lives through many programs: every event reaches
// every subscription that was there when it was published, whatever the two were
// called then; once, unless a crash came between.

// thing is an event type, by whatever name.
type thing struct {
	named
	id int
}

// recipient is a subscription or a group, by whatever name.
type recipient struct {
	named
	id      int
	kind    recipientKind
	thing   *thing // nil with a pattern
	pattern string
	exists  bool
}

type recipientKind int

const (
	isDeclared recipientKind = iota
	isOptional
	isGroup
	isGlob
	isMorgue
)

func (r *recipient) String() string { return fmt.Sprintf("recipient %d of kind %d", r.id, r.kind) }

// noticed is how long it takes until a bus sees what another one has written.
const noticed = 250 * time.Millisecond

// wants tells whether an event that is published now is for it.
func (r *recipient) wants(t *thing) bool {
	if !r.exists || r.kind == isMorgue {
		return false
	}
	return r.thing == t || r.thing == nil && t.matches(r.pattern, noticed)
}

// relicEvent is an event, and what becomes of it.
type relicEvent struct {
	number int
	thing  *thing
	fates  map[*recipient]*fate
}

// fate is a delivery.
type fate struct {
	plan      fatePlan
	runs      int       // that succeeded, or failed for good
	last      time.Time // when the last of them ended
	forgotten bool      // a crash may have lost it
	firsts    int       // of a group: runs of its first member
	told      map[*recipient]int
}

type fatePlan int

const (
	succeeds fatePlan = iota
	retries
	dies
	publishes
)

type keyed struct {
	thing *thing
	key   string
}

type keyUse struct {
	number  int
	id      uuid.UUID
	expires time.Time
}

type eraModel struct {
	era        *era
	things     []*thing
	recipients []*recipient
	names      int

	mu      sync.Mutex // for what follows, and what things and recipients are called
	life    int        // grows with every crash
	numbers int
	events  map[int]*relicEvent
	keys    map[keyed]keyUse
}

func (m *eraModel) init(e *era) {
	m.era, m.events, m.keys = e, map[int]*relicEvent{}, map[keyed]keyUse{}
	fresh := func(format string) func() string {
		return func() string {
			m.names++
			return fmt.Sprintf(format, e.IntN(2), m.names)
		}
	}
	for id := range 1 + e.IntN(3) {
		t := &thing{named{fresh: fresh("n%d.t%d")}, id}
		m.things = append(m.things, t)
		for kind := range isMorgue + 1 {
			if kind != isGlob && e.IntN(4) > 0 {
				m.recipients = append(m.recipients, &recipient{named: named{fresh: fresh("s%d-%d")}, kind: kind, thing: t})
			}
		}
	}
	for _, pattern := range []string{"*", "n1.*"} {
		m.recipients = append(m.recipients, &recipient{named: named{fresh: fresh("g%d-%d")}, kind: isGlob, pattern: pattern})
	}
	for i, r := range m.recipients {
		r.id = i
	}
}

// add notes an event that is stored. The caller holds mu.
func (m *eraModel) add(number int, t *thing) {
	e := &relicEvent{number: number, thing: t, fates: map[*recipient]*fate{}}
	for _, r := range m.recipients {
		if r.wants(t) {
			plan := [...]fatePlan{succeeds, succeeds, succeeds, retries, dies, publishes}[(number*7+r.id)%6]
			e.fates[r] = &fate{plan: plan, told: map[*recipient]int{}}
		}
	}
	m.events[number] = e
	m.era.tracef("event %d is for %d recipients", number, len(e.fates))
}

// publish publishes some events at once.
func (d *deployed) publish(t *thing, n int, opts ...runtime.PublishOption) {
	m := &d.era.eraModel
	var numbers []int
	m.mu.Lock()
	for range n {
		m.numbers++
		numbers = append(numbers, m.numbers)
		m.add(m.numbers, t) // a handler may be faster than the publisher
	}
	m.mu.Unlock()
	_, err := d.things[t].publish(d.era.Context(), d.Bus, numbers, opts...)
	Must(d.T, err)
}

// publishKeyed publishes with an idempotency key that may be in use.
func (d *deployed) publishKeyed(t *thing) {
	m := &d.era.eraModel
	key := keyed{t, fmt.Sprint("key ", d.era.IntN(3))}
	m.mu.Lock()
	use := m.keys[key]
	again := time.Now().Before(use.expires)
	if !again {
		m.numbers++
		use = keyUse{number: m.numbers, expires: time.Now().Add(24 * time.Hour)}
		m.add(use.number, t)
	}
	m.mu.Unlock()
	receipts, err := d.things[t].publish(d.era.Context(), d.Bus, []int{use.number}, runtime.WithDedupeKey(key.key))
	Must(d.T, err)
	if receipts[0].Duplicate != again || again && receipts[0].ID != use.id {
		d.T.Errorf("event %d with %s: duplicate %v of %v, want %v of %v", use.number, key.key, receipts[0].Duplicate, receipts[0].ID, again, use.id)
	}
	use.id = receipts[0].ID
	m.keys[key] = use
}

// handle does the work of all handlers.
func (m *eraModel) handle(ctx context.Context, d *deployed, r *recipient, name string, seen relicSeen) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d.life != m.life {
		return errors.New("this process was killed")
	}
	event := m.events[seen.number]
	if event == nil {
		m.era.Errorf("%v got event %d, which was not published", r, seen.number)
		return nil
	}
	spec, has := d.specs[event.thing]
	if has && seen.typ != spec.name || seen.subscription != name {
		m.era.Errorf("event %d is announced as %+v to %s, want type %s", seen.number, seen, name, spec.name)
	}
	f := event.fates[r]
	if f == nil {
		if r.kind != isGlob || !event.thing.matches(r.pattern, 0) {
			m.era.Errorf("%v got event %d, which is not for it", r, seen.number)
		}
		return nil
	}
	m.era.tracef("%v handles %d as %s", r, seen.number, name)
	if f.plan == retries && seen.attempt == 1 {
		return ErrBoom
	}
	if f.runs > 0 && !f.forgotten {
		m.era.Errorf("%v got event %d again", r, seen.number)
	}
	if f.plan == publishes && has && seen.number < 10000 {
		child := seen.number*10000 + r.id
		if _, err := d.things[event.thing].publish(ctx, d.Bus, []int{child}); err != nil {
			return err
		}
		m.add(child, event.thing)
	}
	f.runs, f.last, f.forgotten = f.runs+1, time.Now(), false
	if f.plan == dies {
		for _, mourner := range m.recipients {
			if mourner.kind == isMorgue && mourner.exists && mourner.thing == event.thing {
				f.told[mourner] += 0
			}
		}
		return runtime.Permanent(ErrBoom)
	}
	return nil
}

// first does the work of the first member of a group.
func (m *eraModel) first(r *recipient, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if event := m.events[number]; event != nil && event.fates[r] != nil {
		event.fates[r].firsts++
	}
}

// told does the work of handlers of dead-letter notices.
func (m *eraModel) told(r *recipient, number int, of, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if reason != "permanent" {
		return // what an older program could not read
	}
	event := m.events[number]
	i := slices.IndexFunc(m.recipients, func(other *recipient) bool { return slices.Contains(other.names(), of) })
	if event == nil || i < 0 || event.fates[m.recipients[i]] == nil {
		m.era.Errorf("%v is told of event %d, dead for %s", r, number, of)
		return
	}
	event.fates[m.recipients[i]].told[r]++
}

// crashed notes that everything that was not written is lost.
func (m *eraModel) crashed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life++
	for _, event := range m.events {
		for _, f := range event.fates {
			f.forgotten = f.forgotten || f.runs > 0 && time.Since(f.last) <= 2*writeDelay
		}
	}
}

// compare holds the dead letters, and what handlers did, against what must be.
func (m *eraModel) compare(d *deployed, letters []event.DeadLetter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := map[string]int{}
	for _, l := range letters {
		number, _ := rawRelic(l.Payload)
		if m.isHandled(d, l.Subscription) {
			dead[fmt.Sprint(number, " ", l.Type, " ", l.Subscription)]++
		}
	}
	for _, event := range m.events {
		for r, f := range event.fates {
			if d.names[r] == "" {
				continue // its pattern matches nothing of the last catalogue
			}
			if f.runs == 0 || r.kind == isGroup && f.firsts == 0 {
				m.era.Errorf("%v never got event %d", r, event.number)
			}
			letter := fmt.Sprint(event.number, " ", event.thing.specs[len(event.thing.specs)-1].name, " ", r.specs[len(r.specs)-1].name)
			want := 0
			if f.plan == dies {
				want = 1
			}
			if dead[letter] != want {
				m.era.Errorf("dead letters %s: %d, want %d; there are %v", letter, dead[letter], want, dead)
			}
			delete(dead, letter)
			for mourner, n := range f.told {
				if n == 0 && d.names[mourner] != "" {
					m.era.Errorf("%v was not told that event %d is dead for %v", mourner, event.number, r)
				}
			}
		}
	}
	if len(dead) > 0 {
		m.era.Errorf("unexpected dead letters: %v", dead)
	}
}

func (m *eraModel) isHandled(d *deployed, subscription string) bool {
	for _, name := range d.names {
		if name == subscription {
			return true
		}
	}
	return false
}
