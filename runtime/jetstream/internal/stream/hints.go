package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// What settings should be at least.
const (
	goodPayload    = 1 << 20
	goodDuplicates = time.Minute
	goodSilence    = 30 * time.Second
)

// Hints returns how the settings of the servers and of the stream weaken what a bus promises,
// and what to do about it, each in a sentence or two.
func (s *Stream) Hints(ctx context.Context) (hints []string) {
	add := func(format string, args ...any) { hints = append(hints, fmt.Sprintf(format, args...)) }
	c := &s.config
	if c.Storage == jetstream.MemoryStorage {
		add("The stream is kept in memory: when the servers restart everything is lost. Make a stream with file storage.")
	}
	switch {
	case c.Replicas < 2:
		add("The stream has one replica: it is lost with the disk of its server, and nothing is stored or handled while that server is away. "+
			"Use three servers, and run: nats stream edit %s --replicas 3", c.Name)
	case c.Replicas == 2:
		add("The stream has two replicas: nothing is stored or handled while one of them is away. "+
			"Use three servers, and run: nats stream edit %s --replicas 3", c.Name)
	}
	if c.Discard == jetstream.DiscardOld {
		add("The stream deletes its oldest messages as soon as somebody limits its size. Run: nats stream edit %s --discard new", c.Name)
	}
	if c.Duplicates < goodDuplicates {
		add("The servers know the ids of messages for %v: an event may be stored twice if the acknowledgement of its publication is lost. "+
			"Run: nats stream edit %s --dupe-window 2m", c.Duplicates, c.Name)
	}
	if limit := s.MaxMessage(); limit < goodPayload {
		add("The servers, or the stream, accept messages of %d bytes: larger events are refused. Set max_payload to 1MB or more.", limit)
	}
	version := s.nc.ConnectedServerVersion()
	if led := c.Metadata["_nats.ver"]; led != "" && olderThan(led, 2, 14) {
		version = led
	}
	if olderThan(version, 2, 14) {
		add("A server is of version %s: atomic batches are young, and this engine was tested with 2.14 and newer. Upgrade the servers.", version)
	}
	if o := s.nc.Opts; s.shared {
		if o.MaxReconnect >= 0 {
			add("The connection of the program gives up when it has tried to connect again %d times, and the bus ends with it. "+
				"Make it with nats.MaxReconnects(-1).", o.MaxReconnect)
		}
		if o.ReconnectBufSize >= 0 {
			add("The connection of the program sends what it could not send when it is connected again: what is published meanwhile is in doubt, " +
				"where it could be refused for certain. Make it with nats.ReconnectBufSize(-1).")
		}
		if silence := o.PingInterval * time.Duration(o.MaxPingsOut+1); silence > goodSilence {
			add("The connection of the program notices after %v that a network is cut. Make it with nats.PingInterval(2*time.Second).", silence)
		}
	}
	if sync, known := s.syncInterval(ctx); known && sync > 0 {
		add("The servers write to the disk every %v, and not before they acknowledge: a power cut of all of them loses what came since then. "+
			"Set sync_interval: always in their jetstream settings.", sync)
	}
	return hints
}

// IsAlone reports whether one server keeps the stream, as far as was known when it was opened.
func (s *Stream) IsAlone() bool { return s.config.Replicas < 2 }

// MaxMessage returns how many bytes a message has at most, by the servers and the stream.
func (s *Stream) MaxMessage() int64 {
	limit := s.nc.MaxPayload()
	if own := int64(s.config.MaxMsgSize); own > 0 {
		limit = min(limit, own)
	}
	return limit
}

// syncInterval returns how often a server writes to the disk; 0 for always. Servers tell that
// the system account only: it is known if that exports $SYS.REQ.SERVER.PING.JSZ to the account
// of this connection.
func (s *Stream) syncInterval(ctx context.Context) (every time.Duration, known bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	msg, err := s.nc.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING.JSZ", []byte(`{"config":true}`))
	if err != nil {
		return 0, false
	}
	var answer struct {
		Data struct {
			Config struct {
				Every  time.Duration `json:"sync_interval"`
				Always bool          `json:"sync_always"`
			} `json:"config"`
		} `json:"data"`
	}
	if err := json.Unmarshal(msg.Data, &answer); err != nil {
		return 0, false
	}
	if c := answer.Data.Config; !c.Always {
		return c.Every, c.Every > 0
	}
	return 0, true
}
