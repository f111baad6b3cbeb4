package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
	"github.com/busgen/busgen/runtime/internal/lockorder"
)

// patience is how many deliveries may overtake a waiting one of a lower
// priority before it has its turn.
const patience = 8

// Item is a delivery that waits for a worker.
type Item struct {
	*engine.Delivery
	Key      string   // of its partition; empty for none
	special  *special // nil for most; never changed
	Limits   *Limited // nil for what has not asked for any
	Priority Priority
	awaited  bool // later deliveries of its key were held back for it
	Urgent   bool // a handler waits for its event
	entered  bool // it is in a batch, and has its key
}

// special is what few deliveries have.
type special struct {
	own     *Own  // what the publisher has said; nil for nothing
	failure error // why a key could not be computed: the attempt fails with it; nil for most
}

// NewItem returns the item of a delivery, with what its publisher has said.
func NewItem(d *engine.Delivery) Item {
	i := Item{Delivery: d}
	if len(d.Metadata) > 0 {
		if own := ownOf(d); own != nil {
			i.special = &special{own: own}
		}
	}
	return i
}

// Rekey takes over the keys of another item of the delivery, or why they cannot be computed.
func (i *Item) Rekey(from Item) { i.Limits, i.special = from.Limits, from.special }

// Own returns what the publisher has said; nil for nothing.
func (i Item) Own() *Own {
	if i.special == nil {
		return nil
	}
	return i.special.own
}

// Failure returns what the attempt fails with, without its handler being called; nil for nothing.
func (i Item) Failure() error {
	if i.special == nil {
		return nil
	}
	return i.special.failure
}

// Fail makes the attempt fail, without its handler being called.
func (i *Item) Fail(err error) { i.special = &special{own: i.Own(), failure: err} }

// IsSuspect tells whether nothing may run beside the delivery.
func (i Item) IsSuspect() bool { return i.Delivery != nil && i.Suspect }

// Queue holds what was polled and has no worker yet: first come, first served
// within a priority, and one at a time within a partition key. Nothing overtakes
// an earlier delivery of its own key, but urgent deliveries overtake everything
// (urgent.go). It is safe for concurrent use.
type Queue struct {
	mu      lockorder.Mutex[lockorder.Queue]
	ready   [4]fifo               // by rank: critical, high, normal, low
	passed  [4]int                // by rank: how often it was overtaken since its last turn
	keys    map[string]*partition // those that have anything to say
	awaited map[int64]awaiting    // by seq: what has to come again before anything else of its key
	size    int                   // of all of it

	urgent        []Item // first come, first served, if the key is free
	aside         map[*limit.Waiter]Item
	awaitedEvents map[int64]time.Time // seqs of events that handlers wait for: when to poll; zero for not before it was settled
}

// partition is the deliveries of one key.
type partition struct {
	ready   bool    // one is ready, or parked and not urgent
	urgent  int     // urgent ones that are parked
	running int     // run; several only if handlers that waited came back by force
	lent    int     // run, and wait: they have lent the key
	seq     int64   // of the one that runs, or 0
	beside  []int64 // seqs of those that wait, or run beside it
	awaited int     // how many have to come again before anything else
	behind  []Item  // wait until the key is free
}

// awaiting is a delivery that has to come again before anything else of its key.
type awaiting struct {
	key string
	due time.Time // it comes no earlier, as far as is known; zero if that is unknown
}

// Rank gives the order in which priorities are served.
func Rank(p Priority) int {
	switch p {
	case Critical:
		return 0
	case High:
		return 1
	case Low:
		return 3
	default:
		return 2
	}
}

// Push adds deliveries, in the order of the log.
func (q *Queue) Push(items ...Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, i := range items {
		q.add(i)
	}
}

// add is push for who holds mu.
func (q *Queue) add(i Item) {
	q.size++
	if _, urgent := q.awaitedEvents[i.Seq]; urgent {
		q.pushUrgent(i)
		return
	}
	if i.Key == "" {
		q.ready[Rank(i.Priority)].push(i)
		return
	}
	p := q.partition(i.Key)
	if p.idle() {
		p.ready = true
		q.ready[Rank(i.Priority)].push(i)
		return
	}
	if _, awaited := q.awaited[i.Seq]; awaited {
		i.awaited = true
		delete(q.awaited, i.Seq)
		p.awaited--
		at, _ := slices.BinarySearchFunc(p.behind, i, goesFirst)
		p.behind = slices.Insert(p.behind, at, i)
	} else {
		p.behind = append(p.behind, i)
	}
	if next, ok := p.next(); ok {
		q.ready[Rank(next.Priority)].push(next)
	}
}

// goesFirst sorts what was awaited before the rest, by seq.
func goesFirst(a, b Item) int {
	if !a.awaited {
		return 1
	}
	return cmp.Compare(a.Seq, b.Seq)
}

func (q *Queue) partition(key string) *partition {
	p := q.keys[key]
	if p == nil {
		if q.keys == nil {
			q.keys = map[string]*partition{}
		}
		p = &partition{}
		q.keys[key] = p
	}
	return p
}

// idle says that a delivery may run at once.
func (p *partition) idle() bool { return !p.taken() && len(p.behind) == 0 && p.awaited == 0 }

// taken says that a delivery has the key, or is about to have it.
func (p *partition) taken() bool { return p.ready || p.urgent > 0 || p.running > 0 || p.lent > 0 }

// next makes the first that waits the one of its key, if it may be.
func (p *partition) next() (Item, bool) {
	if p.taken() || len(p.behind) == 0 || p.awaited > 0 && !p.behind[0].awaited {
		return Item{}, false
	}
	first := p.behind[0]
	p.behind[0] = Item{}
	p.behind = p.behind[1:]
	p.ready = true
	return first, true
}

// Len returns how many deliveries wait, those included that are parked.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

// Express returns how many critical and how many high deliveries may run.
func (q *Queue) Express() (critical, high int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := func(p Priority) int {
		f := &q.ready[Rank(p)]
		return len(f.items) - f.head
	}
	return of(Critical), of(High)
}

// Pop returns the next delivery that may run; for a guest it is an urgent one. Its key is
// its own until done.
func (q *Queue) Pop(guest bool) (Item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.urgent) > 0 && (guest || !q.suspected()) {
		if i, ok := q.popUrgent(guest); ok {
			return i, true
		}
	}
	for !guest {
		r, ok := q.turn()
		if !ok {
			break
		}
		i := q.ready[r].pop()
		if i.Key != "" {
			p := q.keys[i.Key]
			p.ready = false
			if p.taken() { // by an urgent one, meanwhile
				p.behind = slices.Insert(p.behind, 0, i)
				continue
			}
			p.enter(i.Seq)
		}
		q.size--
		return i, true
	}
	return Item{}, false
}

// suspected tells whether a delivery is next that has to run alone.
func (q *Queue) suspected() bool {
	return slices.ContainsFunc(q.ready[:], func(f fifo) bool { return !f.empty() && f.first().IsSuspect() })
}

// PutBack undoes the pop of a delivery that may not run yet. Handlers may have begun or
// ended to wait for it meanwhile.
func (q *Queue) PutBack(i Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unpop(i)
	if _, urgent := q.awaitedEvents[i.Seq]; urgent && !i.Urgent {
		q.raise(i.Seq)
	} else if !urgent && i.Urgent {
		q.lower(i.Seq)
	}
}

func (q *Queue) unpop(i Item) {
	q.size++
	p := q.keys[i.Key] // nil if it has none, or the queue was drained
	if p != nil {
		p.exit(i.Seq)
	}
	if !i.Urgent {
		if p != nil {
			p.ready = true
		}
		q.ready[Rank(i.Priority)].unpop(i)
		return
	}
	q.urgent = slices.Insert(q.urgent, 0, i)
	if p != nil {
		q.promote(i.Key, p)
	}
}

// turn chooses the priority that is served next.
func (q *Queue) turn() (chosen int, ok bool) {
	chosen = -1
	for r := range q.ready {
		if q.ready[r].empty() {
			q.passed[r] = 0
			continue
		}
		if q.ready[r].first().IsSuspect() {
			chosen = r // until it may run, everything waits for it
			break
		}
		if chosen < 0 || q.passed[r] >= patience {
			chosen = r
		}
	}
	if chosen < 0 {
		return 0, false
	}
	q.passed[chosen] = 0
	for r := chosen + 1; r < len(q.ready); r++ {
		if !q.ready[r].empty() {
			q.passed[r]++
		}
	}
	return chosen, true
}

// Hold keeps back what waits for a key until the delivery with the given seq
// comes again, no earlier than due if that is not zero. A second call changes nothing.
func (q *Queue) Hold(key string, seq int64, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, held := q.awaited[seq]; held {
		return
	}
	if q.awaited == nil {
		q.awaited = map[int64]awaiting{}
	}
	q.awaited[seq] = awaiting{key, due}
	q.partition(key).awaited++
}

// AwaitedKey returns the key of a delivery that has to come again.
func (q *Queue) AwaitedKey(seq int64) (key string, awaited bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, awaited := q.awaited[seq]
	return one.key, awaited
}

// Done frees a key, and reports whether somebody may have waited for it, or has to poll by its number what the key waits
// for from now on.
func (q *Queue) Done(key string, seq int64) (more bool) {
	if key == "" {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.keys[key]
	if p == nil { // drained
		return false
	}
	p.exit(seq)
	return q.promote(key, p) || p.lent > 0 || len(q.urgent) > 0 || len(q.aside) > 0 || p.awaited > 0 && len(p.behind) > 0
}

// promote makes the next delivery of a key ready, if there is one and the key is free.
func (q *Queue) promote(key string, p *partition) bool {
	if next, ok := p.next(); ok {
		q.ready[Rank(next.Priority)].insert(next) // in the order of the log
		return true
	}
	if p.idle() {
		delete(q.keys, key)
	}
	return false
}

// enter gives the key to a delivery that is about to run, and exit takes it away.
func (p *partition) enter(seq int64) {
	if p.running++; p.seq != 0 {
		p.beside = append(p.beside, p.seq)
	}
	p.seq = seq
}

func (p *partition) exit(seq int64) {
	if p.running--; p.seq == seq {
		p.seq = 0
	} else {
		p.leave(seq)
	}
}

func (p *partition) leave(seq int64) {
	p.beside = slices.DeleteFunc(p.beside, func(other int64) bool { return other == seq })
}

// Busy returns the seqs of the deliveries with a key that may run, or run.
func (q *Queue) Busy() map[int64]bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	seqs := map[int64]bool{}
	for _, f := range q.ready {
		for _, i := range f.items[f.head:] {
			seqs[i.Seq] = true
		}
	}
	for _, i := range q.urgent {
		seqs[i.Seq] = true
	}
	for _, i := range q.aside {
		seqs[i.Seq] = true
	}
	for _, p := range q.keys {
		for _, seq := range append(p.beside, p.seq) {
			seqs[seq] = true
		}
	}
	return seqs
}

// Reset removes and returns everything but what runs: its keys stay busy until done.
// Of what was awaited only runs remain, which are about to be settled and then done.
func (q *Queue) Reset() (left []Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left = q.leaveAside()
	for r := range q.ready {
		for !q.ready[r].empty() {
			i := q.ready[r].pop()
			if i.Key != "" {
				q.keys[i.Key].ready = false
			}
			left = append(left, i)
		}
		q.passed[r] = 0
	}
	left, q.urgent = append(left, q.urgent...), nil
	for seq := range q.awaitedEvents {
		q.awaitedEvents[seq] = time.Now()
	}
	kept := map[int64]awaiting{}
	for key, p := range q.keys {
		left = append(left, p.behind...)
		p.behind, p.awaited = nil, 0
		if p.idle() {
			delete(q.keys, key)
		}
		for _, seq := range append(p.beside, p.seq) {
			if one, held := q.awaited[seq]; held {
				kept[seq] = one
				p.awaited++
			}
		}
	}
	q.awaited = kept
	q.size = 0
	return left
}

// Drain removes and returns everything.
func (q *Queue) Drain() (left []Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for r := range q.ready {
		for !q.ready[r].empty() {
			left = append(left, q.ready[r].pop())
		}
	}
	left, q.urgent = append(left, q.urgent...), nil
	left = append(left, q.leaveAside()...)
	for _, p := range q.keys {
		left = append(left, p.behind...)
	}
	q.keys, q.awaited = nil, nil
	q.size = 0
	return left
}

// Overtakes tells whether the publisher has given the event a priority of its own.
func (i Item) Overtakes() bool { return i.Own() != nil && i.Own().Priority != nil }

// TriedBefore tells whether a delivery has a row for its failures, or for the crash of which it is a suspect.
func TriedBefore(i Item) bool { return i.Failures > 0 || i.Suspect }

// Limited is what a delivery has to do with limits, and with breakers by key.
type Limited struct {
	By      string             // path of the field that Breaker is the value of; empty for a breaker without keys
	Breaker string             // the key of the breaker
	Uses    []limit.Use        // with keys, if some have any
	Of      []declare.LimitUse // the settings that it has asked with
	Waiter  *limit.Waiter      // until it begins
	Parked  bool               // the waiter is in line
	Grant   *limit.Grant       // since it has begun
}
