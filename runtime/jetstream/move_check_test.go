//go:build unix

package jetstream_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

// checkMoved reads a stream with nats.go, and compares it with what the file had. It knows the
// records of the engine from its tour only.
func checkMoved(t *testing.T, address string, want fileContent, size fileSize) (problems []string) {
	t.Helper()
	found := func(format string, args ...any) {
		if len(problems) < 20 {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	type row struct {
		State    string            `json:"state"`
		Failures int               `json:"failures"`
		Due      time.Time         `json:"due"`
		Attempts []json.RawMessage `json:"attempts"`
	}
	var registry struct {
		Arriving json.RawMessage `json:"arriving"`
		Subs     []struct {
			ID, Name, Pattern string
			Former            []string
		} `json:"subscriptions"`
		Pauses []struct{ Target string }
	}
	var ids []string
	seqs, next, rows, keys := map[int64]string{}, map[string]int64{}, map[string]map[int64]row{}, map[string]string{}
	readShop(t, address, func(subject string, seq int64, m js.Msg) {
		tokens := strings.Split(subject, ".")
		switch tokens[1] {
		case "e":
			id := strings.ToUpper(strings.ReplaceAll(m.Headers().Get("Nats-Msg-Id"), "-", ""))
			seqs[seq], ids = id, append(ids, id)
		case "n":
			conformance.Must(t, json.Unmarshal(m.Data(), &registry))
		case "c":
			var cursor struct{ Next int64 }
			conformance.Must(t, json.Unmarshal(m.Data(), &cursor))
			next[tokens[2]] = cursor.Next
		case "d":
			var r row
			conformance.Must(t, json.Unmarshal(m.Data(), &r))
			var at int64
			fmt.Sscan(tokens[3], &at)
			if rows[tokens[2]] == nil {
				rows[tokens[2]] = map[int64]row{}
			}
			rows[tokens[2]][at] = r
		case "k":
			keys[tokens[2]] = string(m.Data())
		}
	})
	if registry.Arriving != nil {
		found("the stream is still one to which events move")
	}
	if !slices.Equal(ids, want.events) {
		found("%d events are in the stream, and %d have to be, in the order of the file", len(ids), len(want.events))
	}
	if len(registry.Subs) != size.subscriptions || len(registry.Pauses) != 4 {
		found("%d subscriptions and %d pauses", len(registry.Subs), len(registry.Pauses))
	}
	seen := 0
	for _, s := range registry.Subs {
		if s.Pattern != "order.placed" || !slices.Equal(s.Former, []string{s.Name + "-of-old"}) {
			found("subscription %s has the pattern %s and was called %q", s.Name, s.Pattern, s.Former)
		}
		for seq, id := range seqs {
			have, wanted := standing{}, want.open[delivery{id, s.Name}]
			r, has := rows[s.ID][seq]
			switch {
			case has:
				have = standing{state: r.State, failures: r.Failures, attempts: len(r.Attempts)}
				if !r.Due.IsZero() {
					have.due = r.Due.UnixMicro()
				}
				if len(r.Attempts) > 0 {
					var last struct{ Error string }
					json.Unmarshal(r.Attempts[len(r.Attempts)-1], &last)
					have.last = last.Error
				}
			case seq >= next[s.ID]:
				have = standing{state: "open"}
			}
			if have != wanted {
				found("event %s for %s: have %+v, want %+v", id, s.Name, have, wanted)
			}
			if have.state != "" {
				seen++
			}
		}
		if extra := len(rows[s.ID]); extra > len(want.open) {
			found("subscription %s has %d rows", s.Name, extra)
		}
	}
	if seen != len(want.open) {
		found("%d deliveries, want %d", seen, len(want.open))
	}
	for name := range want.keys {
		sum := sha256.Sum256([]byte("order.placed\x00" + name))
		if keys[hex.EncodeToString(sum[:16])] == "" {
			found("the idempotency key %q is missing", name)
		}
	}
	if len(keys) != len(want.keys) {
		found("%d idempotency keys, want %d", len(keys), len(want.keys))
	}
	return problems
}

// readShop calls each with every message of the stream "shop".
func readShop(t *testing.T, address string, each func(subject string, seq int64, m js.Msg)) {
	t.Helper()
	nc, err := nats.Connect(address)
	conformance.Must(t, err)
	defer nc.Close()
	client, err := js.New(nc)
	conformance.Must(t, err)
	consumer, err := client.OrderedConsumer(t.Context(), "shop", js.OrderedConsumerConfig{})
	conformance.Must(t, err)
	info, err := consumer.Info(context.Background())
	conformance.Must(t, err)
	for left := int(info.NumPending); left > 0; {
		batch, err := consumer.Fetch(min(left, 1000))
		conformance.Must(t, err)
		for m := range batch.Messages() {
			at, err := m.Metadata()
			conformance.Must(t, err)
			each(m.Subject(), int64(at.Sequence.Stream), m)
			left--
		}
		conformance.Must(t, batch.Error())
	}
}
