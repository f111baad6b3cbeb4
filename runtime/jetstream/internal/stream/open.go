package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Settings are those of a stream that does not exist yet.
type Settings struct {
	Replicas int // 0 for 1
	MaxBytes int64
	InMemory bool // for tests
	// Heartbeat is how often the server says that a reader is alive; 0 for the default.
	Heartbeat time.Duration
	// Lag is called before a followed message is passed on, for tests: a replica may lag.
	Lag func()
	// Hasty is for tests: who is not there is dead at once.
	Hasty bool
	// Replicated is for tests: the stream is treated as if it had replicas.
	Replicated bool
}

// duplicates is for how long the server knows the ids of messages.
const duplicates = 2 * time.Minute

// openTime is for how long Open waits for servers that have no leader.
const openTime = 10 * time.Second

// Open opens the stream of a name, and makes it if there is none. The subjects of the
// stream begin with its name. The error is a *[TooOldError] or a *[ForeignError] if the server
// or the stream cannot hold a bus.
func Open(ctx context.Context, nc *nats.Conn, name string, settings Settings) (*Stream, error) {
	return open(ctx, nc, name, settings, func(js jetstream.JetStream) (jetstream.Stream, error) {
		existing, err := js.Stream(ctx, name)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return existing, err
		}
		existing, err = js.CreateStream(ctx, settings.config(name))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			existing, err = js.Stream(ctx, name)
			if errors.Is(err, jetstream.ErrStreamNotFound) { // and this server does not know yet
				err = ErrBusy
			}
		}
		return existing, err
	})
}

// OpenExisting is Open for a stream that must exist.
func OpenExisting(ctx context.Context, nc *nats.Conn, name string, settings Settings) (*Stream, error) {
	return open(ctx, nc, name, settings, func(js jetstream.JetStream) (jetstream.Stream, error) { return js.Stream(ctx, name) })
}

func open(ctx context.Context, nc *nats.Conn, name string, settings Settings, get func(jetstream.JetStream) (jetstream.Stream, error)) (*Stream, error) {
	if olderThan(nc.ConnectedServerVersion(), 2, 12) {
		return nil, &TooOldError{nc.ConnectedServerVersion()}
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		existing, err := get(js)
		if err == nil {
			s := &Stream{nc: nc, js: js, name: name, api: "$JS.API.", ackPrefix: []byte(`{"stream":"` + name + `","seq":`), heartbeat: settings.Heartbeat, lag: settings.Lag, hasty: settings.Hasty, replicated: settings.Replicated, config: existing.CachedInfo().Config}
			if s.pipe, err = newPipe(nc); err != nil {
				return nil, err
			}
			return s, check(s.config)
		}
		var refused *jetstream.APIError
		silent := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
		noLead := errors.As(err, &refused) && refused.ErrorCode == noLeader
		if !silent && !noLead && !Passes(err) || time.Since(began) > openTime {
			return nil, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// config returns the settings of a new stream.
func (s Settings) config(name string) jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, Storage: jetstream.FileStorage,
		Replicas: max(s.Replicas, 1), Duplicates: duplicates, Discard: jetstream.DiscardNew, MaxBytes: s.MaxBytes,
		AllowAtomicPublish: true, AllowRollup: true, AllowMsgTTL: true, AllowDirect: true,
	}
	if s.InMemory {
		config.Storage = jetstream.MemoryStorage
	}
	if config.MaxBytes == 0 {
		config.MaxBytes = -1
	}
	return config
}

// check refuses a stream on which the engine cannot keep its promises.
func check(c jetstream.StreamConfig) error {
	switch {
	case len(c.Subjects) != 1 || c.Subjects[0] != c.Name+".>" || c.Mirror != nil || len(c.Sources) > 0 || c.SubjectTransform != nil:
		return &ForeignError{"its subjects are not those of one"}
	case !c.AllowAtomicPublish:
		return &ForeignError{"it does not allow atomic batches"}
	case !c.AllowRollup || c.DenyPurge || c.DenyDelete || c.Sealed:
		return &ForeignError{"it does not allow roll-ups, or that messages are deleted"}
	case !c.AllowMsgTTL:
		return &ForeignError{"its messages cannot have a time to live"}
	case !c.AllowDirect:
		return &ForeignError{"it does not allow direct gets"}
	case c.NoAck:
		return &ForeignError{"it does not say what it has stored"}
	case c.MaxAge > 0 || c.MaxMsgs > 0 || c.MaxMsgsPerSubject > 0 || c.Discard == jetstream.DiscardOld && c.MaxBytes > 0:
		return &ForeignError{"it deletes messages by itself"}
	case c.Retention != jetstream.LimitsPolicy:
		return &ForeignError{"it deletes messages that were acknowledged"}
	}
	return nil
}

// olderThan reports whether the version of a server, such as 2.14.1, is older than another.
func olderThan(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false // nobody knows
	}
	a, err := strconv.Atoi(parts[0])
	b, wrong := strconv.Atoi(parts[1])
	return err == nil && wrong == nil && (a < major || a == major && b < minor)
}

// TooOldError says that a server is too old to hold a bus.
type TooOldError struct{ Version string }

// Error has the version of the server.
func (e *TooOldError) Error() string {
	return fmt.Sprintf("the server is of version %s, which has no atomic batches", e.Version)
}
