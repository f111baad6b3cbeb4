package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is a JetStream stream that holds all of a bus.
type Stream struct {
	nc        *nats.Conn
	js        jetstream.JetStream
	name      string
	heartbeat time.Duration
	api       string // the prefix of the server's API
}

// Settings are those of a stream that does not exist yet.
type Settings struct {
	Replicas int // 0 for 1
	MaxBytes int64
	InMemory bool // for tests
	// Heartbeat is how often the server says that a reader is alive; 0 for the default.
	Heartbeat time.Duration
}

// duplicates is for how long the server knows the ids of messages.
const duplicates = 2 * time.Minute

// Open opens the stream of a name, and makes it if there is none. The subjects of the
// stream begin with its name.
func Open(ctx context.Context, nc *nats.Conn, name string, settings Settings) (*Stream, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	s := &Stream{nc: nc, js: js, name: name, api: "$JS.API.", heartbeat: settings.Heartbeat}
	config := jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, Storage: jetstream.FileStorage,
		Replicas: max(settings.Replicas, 1), Duplicates: duplicates, Discard: jetstream.DiscardNew, MaxBytes: settings.MaxBytes,
		AllowAtomicPublish: true, AllowRollup: true, AllowMsgTTL: true, AllowDirect: true,
	}
	if settings.InMemory {
		config.Storage = jetstream.MemoryStorage
	}
	if config.MaxBytes == 0 {
		config.MaxBytes = -1
	}
	existing, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		existing, err = js.CreateStream(ctx, config)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			existing, err = js.Stream(ctx, name)
		}
	}
	if err != nil {
		return nil, err
	}
	return s, check(existing.CachedInfo().Config)
}

// OpenExisting is Open for a stream that must exist.
func OpenExisting(ctx context.Context, nc *nats.Conn, name string, settings Settings) (*Stream, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	existing, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Stream{nc: nc, js: js, name: name, api: "$JS.API.", heartbeat: settings.Heartbeat}, check(existing.CachedInfo().Config)
}

// check refuses a stream on which the engine cannot keep its promises.
func check(c jetstream.StreamConfig) error {
	switch {
	case !c.AllowAtomicPublish:
		return &ForeignError{"it does not allow atomic batches"}
	case !c.AllowRollup || c.DenyPurge:
		return &ForeignError{"it does not allow roll-ups"}
	case !c.AllowMsgTTL:
		return &ForeignError{"its messages cannot have a time to live"}
	case !c.AllowDirect:
		return &ForeignError{"it does not allow direct gets"}
	case c.MaxAge > 0 || c.MaxMsgs > 0 || c.MaxMsgsPerSubject > 0:
		return &ForeignError{"it deletes messages by itself"}
	case c.Retention != jetstream.LimitsPolicy:
		return &ForeignError{"it deletes messages that were acknowledged"}
	}
	return nil
}

// Name returns the name of the stream, with which all of its subjects begin.
func (s *Stream) Name() string { return s.name }

// Close ends the connection.
func (s *Stream) Close() { s.nc.Close() }

// Size returns how many bytes the server stores.
func (s *Stream) Size(ctx context.Context) (int64, error) {
	info, err := s.info(ctx)
	if err != nil {
		return 0, err
	}
	return int64(info.State.Bytes), nil
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
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.StreamInfo
	}
	if err := s.ask(ctx, "STREAM.INFO."+s.name, nil, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	return &answer.StreamInfo, nil
}
