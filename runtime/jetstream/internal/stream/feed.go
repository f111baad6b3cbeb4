package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// feed is a consumer of the server that pushes messages to us, in order and without
// acknowledgements. It numbers what it sends, so that a gap is seen. It is gone with the
// server on which it is: its reader then makes another one.
type feed struct {
	stream *Stream
	name   string
	sub    *nats.Subscription
	msgs   chan *nats.Msg
	count  uint64 // the number of the last message
	passed int64  // the server has sent nothing for a while, and comes next to what is behind this; or 0
}

// errGap says that messages of a feed are missing.
var errGap = errors.New("messages are missing")

// feedRoom is how many messages wait in memory at most; tests change it. The server sends no
// more than fits into its window; if they are many small ones they are dropped here, and come
// again.
var feedRoom = 1 << 16

// feedConfig is what the server is asked for.
type feedConfig struct {
	Name        string        `json:"name"`
	Deliver     string        `json:"deliver_policy"`
	Start       int64         `json:"opt_start_seq,omitempty"`
	Filters     []string      `json:"filter_subjects,omitempty"`
	Subject     string        `json:"deliver_subject"`
	Heartbeat   time.Duration `json:"idle_heartbeat"`
	FlowControl bool          `json:"flow_control"`
	Ack         string        `json:"ack_policy"`
	Replay      string        `json:"replay_policy"`
	MaxDeliver  int           `json:"max_deliver"`
	Replicas    int           `json:"num_replicas"`
	InMemory    bool          `json:"mem_storage"`
}

// feedTime is how long the server may take to make a consumer.
const feedTime = 2 * time.Second

// feed asks for a consumer.
func (s *Stream) feed(ctx context.Context, config feedConfig) (*feed, error) {
	f := &feed{stream: s, name: nuid.Next(), msgs: make(chan *nats.Msg, feedRoom)}
	config.Name, config.Subject, config.Heartbeat = f.name, s.nc.NewInbox(), cmp.Or(config.Heartbeat, s.beat())
	config.FlowControl, config.Ack, config.Replay, config.MaxDeliver, config.Replicas, config.InMemory = true, "none", "instant", 1, 1, true
	request, _ := json.Marshal(struct {
		Stream string     `json:"stream_name"`
		Config feedConfig `json:"config"`
		Action string     `json:"action"`
	}{s.name, config, "create"})
	var err error
	if f.sub, err = s.nc.ChanSubscribe(config.Subject, f.msgs); err != nil {
		return nil, err
	}
	var answer struct {
		Error *ServerError `json:"error"`
	}
	err = s.askFor(ctx, feedTime, "CONSUMER.CREATE."+s.name+"."+f.name, request, &answer)
	if err == nil && answer.Error != nil {
		err = answer.Error
	}
	if err != nil {
		f.end()
		return nil, err
	}
	return f, nil
}

// end ends the feed, without waiting for the server: if the server does not hear of it,
// it drops the consumer some seconds later.
func (f *feed) end() {
	f.sub.Unsubscribe()
	f.stream.nc.PublishRequest(f.stream.api+"CONSUMER.DELETE."+f.stream.name+"."+f.name, f.stream.nc.NewInbox(), nil)
}

// take returns what is in a message of the server. It reports false if that is none of the
// stream.
func (f *feed) take(m *nats.Msg) (stored Stored, ok bool, err error) {
	at, number, ok := position(m.Reply)
	if !ok && len(m.Data) == 0 && m.Header.Get("Status") == "100" { // messages of the stream may have that header, too
		if m.Reply != "" { // the server goes on when we are here
			return Stored{}, false, m.Respond(nil)
		}
		stalled := m.Header.Get("Nats-Consumer-Stalled")
		if stalled != "" {
			f.stream.nc.Publish(stalled, nil)
		}
		sent, err := strconv.ParseUint(m.Header.Get("Nats-Last-Consumer"), 10, 64)
		if err == nil && sent != f.count {
			return Stored{}, false, errGap
		}
		if stalled == "" {
			f.passed, _ = strconv.ParseInt(m.Header.Get("Nats-Last-Stream"), 10, 64)
		}
		return Stored{}, false, nil
	}
	if !ok {
		return Stored{}, false, nil
	}
	if number != f.count+1 {
		return Stored{}, false, errGap
	}
	f.count, f.passed = number, 0
	return Stored{Subject: m.Subject, Seq: at, Header: m.Header, Data: m.Data}, true, nil
}

// position returns what the reply subject of a message says: its sequence number, and its
// number as the consumer counts. The subject is
// $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQ.NUMBER.TIME.LEFT, or has a domain and the hash of an
// account behind ACK, and a random token at the end.
func position(reply string) (seq int64, number uint64, ok bool) {
	rest, ok := strings.CutPrefix(reply, "$JS.ACK.")
	if !ok {
		return 0, 0, false
	}
	skip := 3
	if strings.Count(rest, ".") > 6 {
		skip = 5
	}
	for range skip {
		_, rest, _ = strings.Cut(rest, ".")
	}
	text, rest, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(text, 10, 64)
	text, _, _ = strings.Cut(rest, ".")
	number, wrong := strconv.ParseUint(text, 10, 64)
	return seq, number, err == nil && wrong == nil
}
