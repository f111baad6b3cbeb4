//go:build unix

package jetstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

// witness reads a stream with one subscription while it is written, and knows the format of the
// records only.
type witness struct {
	t        *testing.T
	mu       sync.Mutex
	divided  bool
	owners   map[int]int // the processes that have the parts, or the whole, which is 0
	slots    map[int]int // of orders
	children map[int][]child
}

// child is an event that a handler has published.
type child struct {
	by    int // the process
	owner int // that has the part of the order then
	seq   uint64
}

func newWitness(t *testing.T) *witness {
	return &witness{t: t, owners: map[int]int{}, slots: map[int]int{}, children: map[int][]child{}}
}

func (w *witness) watch(client js.JetStream, bus string) (stop func()) {
	reader, err := client.OrderedConsumer(context.Background(), bus, js.OrderedConsumerConfig{FilterSubjects: []string{bus + ".c.>", bus + ".e.>"}})
	conformance.Must(w.t, err)
	running, err := reader.Consume(func(m js.Msg) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.take(m); err != nil {
			w.t.Error(err)
		}
	})
	conformance.Must(w.t, err)
	return running.Stop
}

// take takes a message. The caller holds mu.
func (w *witness) take(m js.Msg) error {
	at, err := m.Metadata()
	if err != nil {
		return err
	}
	var record struct {
		PID     int
		Divided bool
		Number  int    `json:"number"`
		Paid    string `json:"order_id"`
	}
	if err := json.Unmarshal(m.Data(), &record); err != nil {
		return err
	}
	tokens := strings.Split(m.Subject(), ".")
	switch {
	case tokens[1] == "c" && len(tokens) == 3:
		w.divided, w.owners[0] = record.Divided, record.PID
	case tokens[1] == "c":
		part, err := strconv.Atoi(tokens[3])
		w.owners[part] = record.PID
		return err
	case m.Headers().Get("Busgen-Type") == "order.paid":
		var n, by int
		if _, err := fmt.Sscan(record.Paid, &n, &by); err != nil {
			return err
		}
		w.children[n] = append(w.children[n], child{by, w.owners[w.part(w.slots[n])], at.Sequence.Stream})
	default:
		slot, err := strconv.ParseUint(tokens[2], 16, 8)
		w.slots[record.Number] = int(slot)
		return err
	}
	return nil
}

// part returns the part of a slot, or 0. The caller holds mu.
func (w *witness) part(slot int) int {
	if w.divided {
		return 1 + slot%16
	}
	return 0
}

// has returns how many parts a process has, or whether it has the whole.
func (w *witness) has(process int) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for part, owner := range w.owners {
		if owner == process && (part > 0) == w.divided {
			n++
		}
	}
	return n
}

// read reports whether so many orders are read, with a child each.
func (w *witness) read(orders int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.slots) == orders && len(w.children) == orders
}

// check says what is wrong: orders that have not one child, and children whose process did not
// have the part of the order when they were stored. It returns how many each process has
// published.
func (w *witness) check(orders int) (by map[int]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	by = map[int]int{}
	for n := range orders {
		if len(w.children[n]) != 1 {
			w.t.Errorf("order %d has the children %v", n, w.children[n])
		}
		for _, c := range w.children[n] {
			if by[c.by]++; c.by != c.owner {
				w.t.Errorf("process %d has published a child of order %d, which is stored (%d) although process %d had its part", c.by, n, c.seq, c.owner)
			}
		}
	}
	return by
}
