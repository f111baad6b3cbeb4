package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Settings are those of a stream that does not exist yet, and how it is used.
type Settings struct {
	Replicas int                           // 0 for three, or as many as there are servers
	Change   func(*jetstream.StreamConfig) // changes other settings of it; may be nil
	Shared   bool                          // the connection is the program's: closing the stream does not close it
	API      string                        // the prefix of the servers' API; "" for $JS.API
	InMemory bool                          // for tests
	// Heartbeat is how often the server says that a reader is alive; 0 for the default.
	Heartbeat time.Duration
	// Lag is called before a followed message is passed on, for tests: a replica may lag.
	Lag func()
	// Polling is called before the dispatcher of a subscription is given anything, for tests: it may stand still.
	Polling func()
	// Lost is for tests: while it returns true, nothing that is appended reaches the servers.
	Lost func() bool
	// Hasty is for tests: a process that is not there is dead at once.
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
	return open(ctx, nc, name, settings, true)
}

// OpenExisting is Open for a stream that must exist.
func OpenExisting(ctx context.Context, nc *nats.Conn, name string, settings Settings) (*Stream, error) {
	return open(ctx, nc, name, settings, false)
}

func open(ctx context.Context, nc *nats.Conn, name string, settings Settings, create bool) (*Stream, error) {
	if olderThan(nc.ConnectedServerVersion(), 2, 12) {
		return nil, &TooOldError{nc.ConnectedServerVersion()}
	}
	if nc.Opts.NoEcho {
		return nil, errNoEcho
	}
	api := cmp.Or(strings.TrimSuffix(settings.API, "."), "$JS.API")
	js, err := jetstream.NewWithAPIPrefix(nc, api)
	if err != nil {
		return nil, err
	}
	s := &Stream{
		nc: nc, js: js, name: name, api: api + ".", ackPrefix: []byte(`{"stream":"` + name + `","seq":`), heartbeat: settings.Heartbeat, lag: settings.Lag, hasty: settings.Hasty,
		replicated: settings.Replicated, polling: settings.Polling,
		shared: settings.Shared, denials: denialsOf(nc),
	}
	for began := time.Now(); ; {
		err := s.find(ctx, settings, create)
		if err == nil {
			if s.pipe, err = newPipe(nc); err != nil {
				return nil, err
			}
			s.pipe.lost = settings.Lost
			s.unheard = s.denials.add(s.pipe)
			return s, nil
		}
		var refused *jetstream.APIError
		noLead := errors.As(err, &refused) && refused.ErrorCode == noLeader
		if !noLead && !Passes(err) || !WaitsLonger(ctx, began, openTime) {
			return nil, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// WaitsLonger reports whether a caller that has waited for the servers since began goes on: until the
// deadline of its context, or, if that has none, for so long.
func WaitsLonger(ctx context.Context, began time.Time, limit time.Duration) bool {
	if _, bounded := ctx.Deadline(); bounded {
		return ctx.Err() == nil
	}
	return time.Since(began) <= limit
}

var errNoEcho = errors.New("the connection is made with nats.NoEcho, so that this process cannot ask itself whether others reach it: make it without")

// find finds the settings of the stream, and makes it if it is to.
func (s *Stream) find(ctx context.Context, settings Settings, create bool) error {
	existing, err := s.lookUp(ctx)
	if create && errors.Is(err, jetstream.ErrStreamNotFound) {
		existing, err = s.create(ctx, settings, check)
	}
	if err != nil {
		return err
	}
	s.config = existing.CachedInfo().Config
	return check(s.config)
}

func (s *Stream) lookUp(ctx context.Context) (jetstream.Stream, error) {
	mine, end := s.asking(ctx, feedTime, "STREAM.INFO."+s.name)
	existing, err := s.js.Stream(mine, s.name)
	return existing, end(err)
}

// mostReplicas is how many a new stream has, if there are so many servers.
const mostReplicas = 3

// create makes the stream. If the settings do not say how many replicas it has, it has as many as the
// servers can keep, and three at most.
func (s *Stream) create(ctx context.Context, settings Settings, check func(jetstream.StreamConfig) error) (jetstream.Stream, error) {
	config := settings.config(s.name)
	if err := check(config); err != nil {
		return nil, err
	}
	chosen := config.Replicas > 0
	for config.Replicas = cmp.Or(config.Replicas, mostReplicas); ; config.Replicas-- {
		mine, end := s.asking(ctx, AnswerTime, "STREAM.CREATE."+s.name)
		made, err := s.js.CreateStream(mine, config)
		err = end(err)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			made, err = s.lookUp(ctx)
			if errors.Is(err, jetstream.ErrStreamNotFound) { // and this server does not know yet
				err = ErrBusy
			}
		}
		if err == nil || chosen || config.Replicas == 1 || !lacksServers(err) {
			return made, err
		}
	}
}

// lacksServers reports whether there are fewer servers than a stream is to have replicas. A server of the cluster
// that is away counts: the stream would be without it for good.
func lacksServers(err error) bool {
	var refused *jetstream.APIError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.ErrorCode {
	case notClustered, noTier:
		return true
	case noPeers:
		return !strings.Contains(refused.Description, "offline")
	}
	return false
}

// config returns the settings of a new stream.
func (s Settings) config(name string) jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, Storage: jetstream.FileStorage,
		Replicas: s.Replicas, Duplicates: duplicates, Discard: jetstream.DiscardNew, MaxBytes: -1,
		AllowAtomicPublish: true, AllowRollup: true, AllowMsgTTL: true, AllowDirect: true,
	}
	if s.InMemory {
		config.Storage = jetstream.MemoryStorage
	}
	if s.Change != nil {
		s.Change(&config)
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
	}
	return keepsAll(c)
}

// keepsAll refuses a stream that deletes messages by itself.
func keepsAll(c jetstream.StreamConfig) error {
	switch {
	case c.MaxAge > 0 || c.MaxMsgs > 0 || c.MaxMsgsPerSubject > 0 || c.Discard == jetstream.DiscardOld && c.MaxBytes > 0:
		return &ForeignError{c.Name + " deletes messages by itself"}
	case c.Retention != jetstream.LimitsPolicy:
		return &ForeignError{c.Name + " deletes messages that were acknowledged"}
	}
	return nil
}

// olderThan reports whether the version of a server, such as 2.14.1, is older than another.
func olderThan(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false // unknown
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
