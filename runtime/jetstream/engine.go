package jetstream

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/buslog"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Engine returns the option of Open that keeps the events on NATS JetStream. The target of
// Open is then an address such as nats://a,b,c/shop: servers of one cluster, and the name of
// the stream, which has letters, digits, hyphens and underscores.
func Engine(opts ...Option) runtime.Option { return runtime.WithEngine(newKeeper(opts)) }

// Inspect returns the option of [inspect.Open] for the same targets.
func Inspect(opts ...Option) inspect.Option { return inspect.WithEngine(newKeeper(opts)) }

// keeper implements [engine.Inspectable].
type keeper struct {
	settings stream.Settings
	silent   bool // Open gives no hints
	connect  func(ctx context.Context, servers string) (*nats.Conn, error)
}

// How the client of NATS treats its connection. A network that is cut and says nothing is
// noticed after pings times pingInterval; then the client connects to another server. What is
// sent while there is no connection fails at once, instead of being sent later: the engine
// tries again by itself. A server that refuses the user is tried again, too: passwords are
// changed on servers and in programs one after the other.
const (
	reconnectWait = 200 * time.Millisecond
	pingInterval  = 2 * time.Second
	pings         = 2
)

func clientOptions() []nats.Option {
	return []nats.Option{
		nats.Name("busgen"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(pings), nats.IgnoreAuthErrorAbort(),
	}
}

func newKeeper(opts []Option) *keeper {
	k := &keeper{connect: func(_ context.Context, servers string) (*nats.Conn, error) {
		return nats.Connect(servers, clientOptions()...)
	}}
	for _, opt := range opts {
		opt(k)
	}
	return k
}

// Open implements [engine.Engine].
func (k *keeper) Open(ctx context.Context, target string, options engine.Options) (engine.Log, error) {
	s, err := k.open(ctx, target, func(nc *nats.Conn, name string) (*stream.Stream, error) {
		return stream.Open(ctx, nc, name, k.settings)
	})
	if err != nil {
		return nil, err
	}
	l, err := buslog.Open(ctx, s, redacted(target), options)
	if err != nil {
		s.Close()
		return nil, err
	}
	if options.Logger != nil && !k.silent {
		for _, hint := range s.Hints(ctx) {
			options.Logger.Warn("the servers keep less than busgen promises", "log", redacted(target), "hint", hint)
		}
	}
	return opened{l, target}, nil
}

// opened is a log that knows its target with the passwords, to be opened once more. Errors
// have it without.
type opened struct {
	*buslog.Log
	target string
}

// Target implements [engine.Log].
func (l opened) Target() string { return l.target }

// Inspect implements [engine.Inspectable].
func (k *keeper) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	s, err := k.open(ctx, target, func(nc *nats.Conn, name string) (*stream.Stream, error) {
		return stream.OpenExisting(ctx, nc, name, k.settings)
	})
	if err != nil {
		return nil, err
	}
	in, err := buslog.Inspect(ctx, s, redacted(target), actor)
	if err != nil {
		s.Close()
		return nil, err
	}
	return in, nil
}

// open connects to the servers of a target.
func (k *keeper) open(ctx context.Context, target string, open func(*nats.Conn, string) (*stream.Stream, error)) (*stream.Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	servers, name, err := splitTarget(target)
	if err != nil {
		return nil, err
	}
	nc, err := k.connect(ctx, servers)
	if err != nil {
		return nil, &engine.StorageError{Fault: engine.Unreachable, Op: "open", Path: redacted(target), Err: err, Hint: "check that the servers run, and that this address is theirs"}
	}
	s, err := open(nc, name)
	if err == nil {
		return s, nil
	}
	nc.Close()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, err
	}
	return nil, openError(redacted(target), name, err)
}

// openError says why a stream cannot be used, and what to do.
func openError(target, name string, err error) error {
	wrong := &engine.StorageError{Fault: engine.Unreachable, Op: "open", Path: target, Err: err}
	var foreign *stream.ForeignError
	var old *stream.TooOldError
	var refused *js.APIError
	switch {
	case errors.As(err, &foreign):
		wrong.Fault, wrong.Hint = engine.Foreign, "use another name in the address, so that a stream is made, or change this one"
	case errors.As(err, &old):
		wrong.Fault, wrong.Hint = engine.TooOld, "upgrade the servers to 2.14 or newer"
	case errors.Is(err, js.ErrStreamNotFound):
		wrong.Fault, wrong.Err = engine.IO, fmt.Errorf("the servers have no stream %s", name)
	case errors.As(err, &refused) && (refused.ErrorCode == noPeers || refused.ErrorCode == noCluster):
		wrong.Fault, wrong.Hint = engine.IO, "a stream has at most as many replicas as the cluster has servers: start more, or pass less to jetstream.Replicas"
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		wrong.Hint = "check that JetStream is enabled on the servers (jetstream {} in their settings), and that most of them run"
	}
	return wrong
}

// The codes of refusals to make a stream of several replicas.
const (
	noPeers   = 10005
	noCluster = 10074
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// splitTarget returns the addresses of the servers, and the name of the stream.
func splitTarget(target string) (servers, name string, err error) {
	address, isAddress := strings.CutPrefix(target, "nats://")
	hosts, name, named := strings.Cut(address, "/")
	if !isAddress || !named || hosts == "" || !validName.MatchString(name) {
		return "", "", errors.New("the target must be nats://server,server/name, where the name has letters, digits, - and _ only")
	}
	var all []string
	for _, host := range strings.Split(hosts, ",") {
		all = append(all, "nats://"+host)
	}
	return strings.Join(all, ","), name, nil
}

// redacted returns a target without the user names and passwords of its servers.
func redacted(target string) string {
	address, isAddress := strings.CutPrefix(target, "nats://")
	hosts, name, named := strings.Cut(address, "/")
	if !isAddress || !named {
		return target
	}
	all := strings.Split(hosts, ",")
	for i, host := range all {
		all[i] = host[strings.LastIndex(host, "@")+1:]
	}
	return "nats://" + strings.Join(all, ",") + "/" + name
}
