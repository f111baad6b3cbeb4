package jetstream

import (
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Option changes how the engine uses the servers.
type Option func(*keeper)

// Options returns an option: the connection is made with options of the NATS client. They say who the
// program is, and how it knows the servers:
//
//	jetstream.Options(nats.UserCredentials("shop.creds"))
//	jetstream.Options(nats.ClientCert("shop.pem", "shop-key.pem"), nats.RootCAs("ca.pem"))
//
// They come after those of the engine, and win. The engine makes the client try for ever to
// connect again, notice within six seconds that a network is cut, and send nothing late.
func Options(opts ...nats.Option) Option {
	return func(k *keeper) { k.options = append(k.options, opts...) }
}

// Conn returns an option: the engine uses a connection that the program has, and leaves it open. The target
// of Open then names no servers: nats:///shop. A connection that is closed ends the bus, so make it
// with [nats.MaxReconnects](-1); Open warns of settings that weaken a promise. The connection must not be made
// with [nats.NoEcho]. One bus at a time is enough for a connection, and more are possible.
func Conn(nc *nats.Conn) Option { return func(k *keeper) { k.conn = nc } }

// Environment returns an option: how to connect is taken from the environment, as the nats command does.
// The command busgen has it.
//
// If the target of Open names no servers (nats:///shop), they are those of NATS_URL, or of a context
// of the nats command: the one that NATS_CONTEXT names, or else the selected one. The context also says who the
// program is. If the target names servers, a context is used only if NATS_CONTEXT names it.
//
// Variables go before what the context has: NATS_USER and NATS_PASSWORD, NATS_TOKEN, NATS_CREDS,
// NATS_NKEY, NATS_JWT and NATS_SEED; NATS_CERT, NATS_KEY and NATS_CA. [Options] go before both.
func Environment() Option { return func(k *keeper) { k.environment = true } }

// APIPrefix returns an option: the JetStream of the servers is found under another prefix than $JS.API.
// That of a domain named hub is $JS.hub.API.
func APIPrefix(prefix string) Option { return func(k *keeper) { k.settings.API = prefix } }

// Replicas returns an option: the stream that Open makes is kept by so many servers of the
// cluster. Without it they are three, or as many as there are, if they are fewer. A stream that exists is left as it is.
func Replicas(n int) Option { return func(k *keeper) { k.settings.Replicas = n } }

// Stream returns an option: change is called with the settings of the stream that Open makes, before it is made. It
// sets a limit, as some accounts require, or where the stream is placed:
//
//	jetstream.Stream(func(c *natsjs.StreamConfig) {
//		c.MaxBytes = 10 << 30
//		c.Placement = &natsjs.Placement{Tags: []string{"ssd"}}
//	})
//
// Open refuses settings on which a bus cannot keep its promises. A stream that exists is left as it is.
func Stream(change func(*jetstream.StreamConfig)) Option {
	return func(k *keeper) { k.settings.Change = change }
}
