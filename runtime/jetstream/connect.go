package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/jetstream/internal/natsenv"
)

// How the client of NATS treats its connection. A network that is cut and says nothing is
// noticed after pings times pingInterval; then the client connects to another server. A
// message that is sent while there is no connection fails at once, instead of being sent
// later: the engine tries again by itself. A server that refuses the user is tried again,
// too: passwords are changed on servers and in programs one after the other.
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

// logging makes the client tell a logger what happens to the connection between operations, instead of standard
// error. The error of an operation says as much itself.
func logging(logger *slog.Logger) nats.Option {
	return nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if logger != nil {
			logger.Warn("the client of NATS reports an error", "error", err)
		}
	})
}

// dial connects to servers, or returns the connection of the program. shared says that it is
// not to be closed.
func (k *keeper) dial(ctx context.Context, servers []string, logger *slog.Logger) (nc *nats.Conn, shared bool, api string, err error) {
	api = k.settings.API
	switch {
	case k.connect != nil:
		nc, err = k.connect(ctx, strings.Join(servers, ","))
		return nc, false, api, err
	case k.conn != nil && len(servers) > 0:
		return nil, true, "", errors.New("with jetstream.Conn the target names no servers: nats:///name")
	case k.conn != nil:
		return k.conn, true, api, nil
	}
	options := nats.GetDefaultOptions()
	options.Servers = servers
	all := append(clientOptions(), logging(logger))
	if k.environment {
		found, err := natsenv.Look(len(servers) > 0)
		if err != nil {
			return nil, false, "", err
		}
		if all = append(all, found.Options...); api == "" {
			api = found.API
		}
		if len(servers) == 0 {
			options.Servers = found.Servers
		}
	}
	for _, opt := range append(all, k.options...) {
		if opt == nil {
			continue
		}
		if err := opt(&options); err != nil {
			return nil, false, "", err
		}
	}
	if len(options.Servers) == 0 && options.Url == "" && options.InProcessServer == nil {
		return nil, false, "", errNoServers
	}
	nc, err = options.Connect()
	return nc, false, api, err
}

var errNoServers = errors.New("the target names no servers: it is nats://server,server/name, and nats:///name only with jetstream.Conn, " +
	"or if the environment (NATS_URL, a context of the nats command) names some")

// connectError says why there is no connection. A refusal is final.
func connectError(target string, err error) error {
	wrong := &event.StorageError{Fault: event.Unreachable, Op: "open", Path: target, Err: err, Hint: "check that the servers run, and that this address is theirs"}
	var refused *net.OpError // of a certificate, by the other side
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		wrong.Fault, wrong.Hint = event.ReadOnly, "the servers refuse the user: check the credentials of this program (jetstream.Options; of the command: NATS_CREDS, NATS_USER, NATS_CONTEXT)"
	case errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted):
		wrong.Hint = "servers and address must agree on encryption: tls://… is for servers with tls {}"
	case errors.Is(err, nats.ErrTLS), errors.As(err, &refused) && refused.Op == "remote error":
		wrong.Hint = "check the certificates: who has signed that of the servers (nats.RootCAs; of the command: NATS_CA), and whether they want one of this program (nats.ClientCert; NATS_CERT, NATS_KEY)"
	case errors.As(err, new(*natsenv.Error)), errors.Is(err, errNoServers):
		wrong.Fault, wrong.Hint = event.IO, ""
	}
	return wrong
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// schemes are those of targets.
var schemes = []string{"nats", "tls"}

// splitTarget returns the addresses of the servers, and the name of the stream.
func splitTarget(target string) (servers []string, name string, err error) {
	scheme, hosts, name, ok := cutTarget(target)
	if !ok || !validName.MatchString(name) {
		return nil, "", errors.New("the target must be nats://server,server/name, or tls://…, where the name has letters, digits, - and _ only")
	}
	if hosts == "" {
		return nil, name, nil
	}
	for _, host := range strings.Split(hosts, ",") {
		servers = append(servers, scheme+"://"+host)
	}
	return servers, name, nil
}

func cutTarget(target string) (scheme, hosts, name string, ok bool) {
	for _, scheme := range schemes {
		address, isAddress := strings.CutPrefix(target, scheme+"://")
		if hosts, name, named := strings.Cut(address, "/"); isAddress && named {
			return scheme, hosts, name, true
		}
	}
	return "", "", "", false
}

// redacted returns a target without the user names and passwords of its servers.
func redacted(target string) string {
	scheme, hosts, name, ok := cutTarget(target)
	if !ok {
		return target
	}
	all := strings.Split(hosts, ",")
	for i, host := range all {
		all[i] = host[strings.LastIndex(host, "@")+1:]
	}
	return fmt.Sprintf("%s://%s/%s", scheme, strings.Join(all, ","), name)
}
