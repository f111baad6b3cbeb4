package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is a JetStream stream that holds all of a bus.
type Stream struct {
	nc         *nats.Conn
	js         jetstream.JetStream
	name       string
	heartbeat  time.Duration
	lag        func() // see Settings
	hasty      bool
	replicated bool   // see Settings
	polling    func() // see Settings
	api        string // the prefix of the server's API
	config     jetstream.StreamConfig
	renewed    func() // nil for nothing
	pipe       *pipe
	ackPrefix  []byte // of acknowledgements, see plainAck
	denials    *denials
	unheard    func()             // ends that the pipe is told of them
	answers    *nats.Subscription // to the pings of others; nil until there is one
	shared     bool               // the connection is the program's
}

// Name returns the name of the stream, with which all of its subjects begin.
func (s *Stream) Name() string { return s.name }

// MaxPayload returns how large a message may be, headers included.
func (s *Stream) MaxPayload() int { return int(s.nc.MaxPayload()) }

// Hasty reports whether a process that is not there is dead at once.
func (s *Stream) Hasty() bool { return s.hasty }

// Polling is called before the dispatcher of a subscription is given anything: see [Settings].
func (s *Stream) Polling() {
	if s.polling != nil {
		s.polling()
	}
}

// Reconnects returns how often the connection was lost and made again.
func (s *Stream) Reconnects() uint64 { return s.nc.Stats().Reconnects }

// Replicated reports whether there are replicas, which may lag behind the leader.
func (s *Stream) Replicated() bool { return s.config.Replicas > 1 || s.replicated }

// Move connects to another server, if there is one. Readers begin again there. A connection that is the program's stays
// where it is.
func (s *Stream) Move() {
	if !s.shared && s.nc.IsConnected() {
		s.nc.ForceReconnect()
	}
}

// Close ends the connection, unless it is the program's.
func (s *Stream) Close() {
	s.unheard()
	if s.pipe.close(); s.answers != nil {
		s.answers.Unsubscribe()
	}
	if !s.shared {
		s.nc.Close()
	}
}

// Size returns how many bytes the server stores.
func (s *Stream) Size(ctx context.Context) (int64, error) {
	info, err := s.info(ctx)
	if err != nil {
		return 0, err
	}
	return int64(info.State.Bytes), nil
}

// State is what the leader says about the stream.
type State struct {
	Created time.Time
	Last    int64 // the sequence number of the newest message, which may be deleted
}

// State asks the leader. The error matches [ErrNoStream] if the stream is deleted.
func (s *Stream) State(ctx context.Context) (State, error) {
	info, err := s.info(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return State{}, fmt.Errorf("%w: %s", ErrNoStream, s.name)
	}
	if err != nil {
		return State{}, err
	}
	return State{info.Created, int64(info.State.LastSeq)}, nil
}

// Subjects returns the subjects under which there are messages, of those that a filter matches, as the server
// knows them that answers, and up to which message that is.
func (s *Stream) Subjects(ctx context.Context, filter string) (subjects map[string]uint64, last int64, err error) {
	subjects = map[string]uint64{}
	for {
		request, _ := json.Marshal(struct {
			Filter string `json:"subjects_filter"`
			Offset int    `json:"offset,omitempty"`
		}{filter, len(subjects)})
		info, err := s.infoWith(ctx, request)
		if err != nil {
			return nil, 0, err
		}
		if last == 0 {
			last = int64(info.State.LastSeq)
		}
		before := len(subjects)
		maps.Copy(subjects, info.State.Subjects)
		if len(subjects) == before || len(info.State.Subjects) < mostSubjects {
			return subjects, last, nil
		}
	}
}

// mostSubjects is how many the servers list in one answer.
const mostSubjects = 100_000

// OnRenewal makes f be called, in a goroutine of its own, when a reader begins again, or
// tries to. It is called before there is one.
func (s *Stream) OnRenewal(f func()) { s.renewed = f }

// Space returns how many bytes the server stores, and how many it stores at most; 0 or less for
// no limit.
func (s *Stream) Space(ctx context.Context) (used, limit int64, err error) {
	info, err := s.info(ctx)
	if err != nil {
		return 0, 0, err
	}
	return int64(info.State.Bytes), info.Config.MaxBytes, nil
}

// Last returns the sequence number of the newest message, by the leader. The message may be
// deleted.
func (s *Stream) Last(ctx context.Context) (int64, error) {
	info, err := s.info(ctx)
	if err != nil {
		return 0, err
	}
	return int64(info.State.LastSeq), nil
}

func (s *Stream) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	return s.infoWith(ctx, nil)
}

func (s *Stream) infoWith(ctx context.Context, request []byte) (*jetstream.StreamInfo, error) {
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.StreamInfo
	}
	if err := s.ask(ctx, "STREAM.INFO."+s.name, request, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	if c := answer.Cluster; c != nil && c.Leader == "" {
		return nil, ErrLeaderless
	}
	return &answer.StreamInfo, nil
}
