//go:build unix

package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/command"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/movecmd"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// permissions returns those that the page gives the user of a program.
func permissions(t *testing.T) *natsserver.Permissions {
	t.Helper()
	_, accounts, _ := documented(t)
	var options natsserver.Options
	conformance.Must(t, options.ProcessConfigString(strings.NewReplacer("$SHOP_PASSWORD", "secret", "$ADMIN_PASSWORD", "secret").Replace(accounts)))
	for _, u := range options.Users {
		if u.Username == "shop" {
			return u.Permissions
		}
	}
	t.Fatal("there is no user shop")
	return nil
}

// permitted returns what a program may publish, and what it may subscribe to.
func permitted(t *testing.T) (publish, subscribe []string) {
	t.Helper()
	may := permissions(t)
	return may.Publish.Allow, may.Subscribe.Allow
}

// authority is an operator of NATS with an account of which users have credentials.
type authority struct {
	settings string // of a server
	creds    string // the file of a user who may do what the page lets him do
}

func newAuthority(t *testing.T, limits jwt.JetStreamLimits) authority {
	t.Helper()
	encode := func(claims jwt.Claims, by nkeys.KeyPair) string {
		text, err := claims.Encode(by)
		conformance.Must(t, err)
		return text
	}
	pair := func(make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		keys, err := make()
		conformance.Must(t, err)
		public, err := keys.PublicKey()
		conformance.Must(t, err)
		return keys, public
	}
	operator, operatorID := pair(nkeys.CreateOperator)
	_, systemID := pair(nkeys.CreateAccount)
	shop, shopID := pair(nkeys.CreateAccount)
	user, userID := pair(nkeys.CreateUser)
	account := jwt.NewAccountClaims(shopID)
	account.Limits.JetStreamLimits = limits
	who := jwt.NewUserClaims(userID)
	who.Permissions.Pub.Allow, who.Permissions.Sub.Allow = permitted(t)
	seed, err := user.Seed()
	conformance.Must(t, err)
	creds, err := jwt.FormatUserConfig(encode(who, shop), seed)
	conformance.Must(t, err)
	a := authority{creds: filepath.Join(t.TempDir(), "shop.creds")}
	conformance.Must(t, os.WriteFile(a.creds, creds, 0o600))
	a.settings = fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n",
		encode(jwt.NewOperatorClaims(operatorID), operator), systemID,
		systemID, encode(jwt.NewAccountClaims(systemID), operator), shopID, encode(account, operator))
	return a
}

// oneServer starts a server, and returns its address. inJetStream are settings of that.
func oneServer(t *testing.T, binary servertest.Binary, settings string, inJetStream ...string) (host string) {
	t.Helper()
	host = fmt.Sprintf("127.0.0.1:%d", servertest.Ports(t, 1)[0])
	_, err := binary.Start(t, fmt.Sprintf("listen: %q\njetstream {\nstore_dir: %q\nlimits { batch { max_msgs: 10000 } }\n%s\n}\nmax_payload: 4MB\n%s", host, t.TempDir(), strings.Join(inJetStream, "\n"), settings))
	conformance.Must(t, err)
	return host
}

var unlimited = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}

func TestAProgramConnectsWithACredentialsFile(t *testing.T) {
	for _, binary := range servertest.Binaries(t) {
		a := newAuthority(t, unlimited)
		target := "nats://" + oneServer(t, binary, a.settings) + "/shop"
		useAll(t, target, jetstream.Options(nats.UserCredentials(a.creds)))
		_, err := runtime.Open(t.Context(), target, conformance.Catalogue, jetstream.Engine())
		wantFault(t, err, event.ReadOnly)
		if !strings.Contains(err.Error(), "check the credentials") {
			t.Error(err)
		}
	}
}

// A user who is known by a key, by a password or by a token.
func TestAProgramSaysWhoItIsInOtherWays(t *testing.T) {
	binary := servertest.Binaries(t)[0]
	user, err := nkeys.CreateUser()
	conformance.Must(t, err)
	public, err := user.PublicKey()
	conformance.Must(t, err)
	seed, err := user.Seed()
	conformance.Must(t, err)
	file := filepath.Join(t.TempDir(), "shop.nk")
	conformance.Must(t, os.WriteFile(file, seed, 0o600))
	key, err := nats.NkeyOptionFromSeed(file)
	conformance.Must(t, err)
	a := newAuthority(t, unlimited)
	contents, err := os.ReadFile(a.creds)
	conformance.Must(t, err)
	token, err := nkeys.ParseDecoratedJWT(contents)
	conformance.Must(t, err)
	pair, err := nkeys.ParseDecoratedNKey(contents)
	conformance.Must(t, err)
	signer, err := pair.Seed()
	conformance.Must(t, err)
	for name, way := range map[string]struct {
		settings string
		address  string
		option   nats.Option
	}{
		"key":      {fmt.Sprintf("authorization { users: [ { nkey: %s } ] }", public), "nats://", key},
		"JWT":      {a.settings, "nats://", nats.UserJWTAndSeed(token, string(signer))},
		"token":    {"authorization { token: s3cret }", "nats://", nats.Token("s3cret")},
		"password": {"authorization { user: shop, password: s3cret }", "nats://shop:s3cret@", nil},
	} {
		bus, err := runtime.Open(t.Context(), way.address+oneServer(t, binary, way.settings)+"/shop", conformance.Catalogue,
			runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(jetstream.Options(way.option)))
		if err != nil {
			t.Errorf("by a %s: %v", name, err)
			continue
		}
		conformance.Must(t, bus.Shutdown(t.Context()))
	}
}

// The certificate of a program is its user.
func TestAProgramConnectsWithACertificate(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir)
	publish, subscribe := permitted(t)
	binary := servertest.Binaries(t)[0]
	target := "tls://" + oneServer(t, binary, fmt.Sprintf(`
		tls { cert_file: "%[1]s/server.pem", key_file: "%[1]s/server-key.pem", ca_file: "%[1]s/ca.pem", verify_and_map: true }
		authorization { users: [ { user: "CN=client", permissions: { publish: ["%[2]s"], subscribe: ["%[3]s"] } } ] }`,
		dir, strings.Join(publish, `", "`), strings.Join(subscribe, `", "`))) + "/shop"
	ca := nats.RootCAs(filepath.Join(dir, "ca.pem"))
	useAll(t, target, jetstream.Options(nats.ClientCert(filepath.Join(dir, "client.pem"), filepath.Join(dir, "client-key.pem")), ca))
	for name, opts := range map[string][]nats.Option{"no certificate": {ca}, "an authority that is not known": nil} {
		_, err := runtime.Open(t.Context(), target, conformance.Catalogue, jetstream.Engine(jetstream.Options(opts...)))
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.InDoubt || !strings.Contains(err.Error(), "check the certificates") {
			t.Errorf("with %s Open returns %v", name, err)
		}
		t.Log(err)
	}
}

func TestAnAccountThatWantsALimitGetsOne(t *testing.T) {
	limits := unlimited
	limits.DiskStorage, limits.MaxBytesRequired = 1<<30, true
	a := newAuthority(t, limits)
	target := "nats://" + oneServer(t, servertest.Binaries(t)[0], a.settings) + "/shop"
	creds := jetstream.Options(nats.UserCredentials(a.creds))
	open := func(opts ...jetstream.Option) error {
		bus, err := runtime.Open(t.Context(), target, conformance.Catalogue, jetstream.Engine(append(opts, creds)...))
		if err == nil {
			conformance.Must(t, bus.Shutdown(context.Background()))
		}
		return err
	}
	most := func(n int64) jetstream.Option {
		return jetstream.Stream(func(c *js.StreamConfig) { c.MaxBytes = n })
	}
	for want, err := range map[string]error{
		"jetstream.Stream with a function that sets MaxBytes": open(),
		"or the account, store":                               open(most(2 << 30)),
		"deletes messages by itself":                          open(most(1<<20), jetstream.Stream(func(c *js.StreamConfig) { c.MaxAge = 1e9 })),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open returns %v, want %q", err, want)
		}
	}
	conformance.Must(t, open(most(1<<20)))
}

// The environment says who the command is, and where the servers are, as it does for the nats command.
func TestTheCommandConnectsAsTheNATSCommandDoes(t *testing.T) {
	a := newAuthority(t, unlimited)
	host := oneServer(t, servertest.Binaries(t)[0], a.settings)
	bus, err := runtime.Open(t.Context(), "nats://"+host+"/shop", conformance.Catalogue, jetstream.Engine(jetstream.Options(nats.UserCredentials(a.creds))))
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	home := t.TempDir()
	folder := filepath.Join(home, "nats", "context")
	conformance.Must(t, os.MkdirAll(folder, 0o700))
	conformance.Must(t, os.WriteFile(filepath.Join(folder, "shop.json"), fmt.Appendf(nil, `{"url":%q,"creds":%q,"description":"the shop"}`, host, a.creds), 0o600))
	conformance.Must(t, os.WriteFile(filepath.Join(folder, "vault.json"), fmt.Appendf(nil, `{"url":%q,"creds":"op://vault/shop"}`, host), 0o600))
	for name, c := range map[string]struct {
		env      map[string]string
		selected string
		target   string
		want     string // in the error; "" for none
	}{
		"credentials":                 {map[string]string{"NATS_CREDS": a.creds}, "", "nats://" + host + "/shop", ""},
		"credentials and servers":     {map[string]string{"NATS_CREDS": a.creds, "NATS_URL": "nats://" + host}, "", "nats:///shop", ""},
		"a context":                   {map[string]string{"NATS_CONTEXT": "shop"}, "", "nats:///shop", ""},
		"a context by its file":       {map[string]string{"NATS_CONTEXT": filepath.Join(folder, "shop.json")}, "", "nats:///shop", ""},
		"a context for known servers": {map[string]string{"NATS_CONTEXT": "shop"}, "", "nats://" + host + "/shop", ""},
		"the selected context":        {nil, "shop", "nats:///shop", ""},
		"it is not for other servers": {nil, "shop", "nats://" + host + "/shop", "check the credentials"},
		"no such context":             {map[string]string{"NATS_CONTEXT": "ship"}, "shop", "nats:///shop", "the context ship of the nats command, which NATS_CONTEXT names: open "},
		"a secret that is elsewhere":  {map[string]string{"NATS_CONTEXT": "vault"}, "", "nats:///shop", "busgen does not read secrets from op://…: name a file"},
		"no credentials":              {map[string]string{"NATS_CREDS": "no.creds"}, "", "nats://" + host + "/shop", "no.creds: no such file"},
		"another user":                {map[string]string{"NATS_CONTEXT": "shop", "NATS_USER": "ada", "NATS_PASSWORD": "x"}, "", "nats:///shop", "check the credentials"},
		"nothing":                     {nil, "", "nats:///shop", "the target names no servers"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range os.Environ() {
				if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "NATS_") {
					t.Setenv(name, "")
				}
			}
			t.Setenv("XDG_CONFIG_HOME", home)
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			conformance.Must(t, os.WriteFile(filepath.Join(home, "nats", "context.txt"), []byte(c.selected+"\n"), 0o600))
			environment := jetstream.Environment()
			root := command.New(cli.Engine{Schemes: []string{"nats", "tls"}, Inspect: jetstream.Inspect(environment), Verbs: []*cobra.Command{movecmd.New(environment)}})
			var out bytes.Buffer
			status := cli.Run(t.Context(), root, []string{"status", c.target}, strings.NewReader(""), &out, &out)
			if failed := status != 0; failed != (c.want != "") || !strings.Contains(out.String(), c.want) {
				t.Errorf("busgen status %s ends with %d, want %q:\n%s", c.target, status, c.want, out.String())
			}
		})
	}
}

// A bus leaves the connection of the program as it was.
func TestABusUsesAConnectionOfTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // what the server has begun ends after it
		options := servertest.Options(t.TempDir())
		options.MaxPayload, options.NoSystemAccount = 4<<20, true
		s := servertest.StartWith(t, options, nil)
		var errs []error
		nc, err := s.Connect(nats.MaxReconnects(-1), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs = append(errs, err) }))
		conformance.Must(t, err)
		defer nc.Close()
		subscriptions := nc.NumSubscriptions()
		for _, name := range []string{"one", "two"} {
			useAll(t, "nats:///"+name, jetstream.Conn(nc))
			synctest.Wait()
			if nc.IsClosed() {
				t.Fatal("the connection is closed")
			}
			// The client's own, for answers to requests, stays.
			if now := nc.NumSubscriptions(); now > subscriptions+1 {
				t.Errorf("the connection has %d subscriptions, and had %d", now, subscriptions)
			}
		}
		if len(errs) > 0 {
			t.Error(errs)
		}
		var log bytes.Buffer
		weak, err := s.Connect(nats.MaxReconnects(7))
		conformance.Must(t, err)
		defer weak.Close()
		bus, err := runtime.Open(t.Context(), "nats:///one", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), jetstream.Engine(jetstream.Conn(weak)))
		conformance.Must(t, err)
		conformance.Must(t, bus.Shutdown(t.Context()))
		for _, want := range []string{"again 7 times", "nats.ReconnectBufSize(-1)", "after 6m0s that a network is cut"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("Open does not warn: %s\n%s", want, log.String())
			}
		}
		for target, want := range map[string]string{"nats://a,b,c/bus": "nats:///name", "bus": "nats://server,server/name"} {
			_, err := runtime.Open(t.Context(), target, conformance.Catalogue, jetstream.Engine(jetstream.Conn(nc)))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Open of %s returns %v", target, err)
			}
		}
		deaf, err := s.Connect(nats.NoEcho())
		conformance.Must(t, err)
		defer deaf.Close()
		_, err = runtime.Open(t.Context(), "nats:///bus", conformance.Catalogue, jetstream.Engine(jetstream.Conn(deaf)))
		if err == nil || !strings.Contains(err.Error(), "NoEcho") {
			t.Errorf("without echo Open returns %v", err)
		}
		nc.Close()
		_, err = runtime.Open(t.Context(), "nats:///bus", conformance.Catalogue, jetstream.Engine(jetstream.Conn(nc)))
		wantFault(t, err, event.Unreachable)
	})
}

// Servers at the edge have a domain of their own; the bus is in that of the hub.
func TestABusIsFoundInAnotherDomain(t *testing.T) {
	binary := servertest.Binaries(t)[0]
	leaves := servertest.Ports(t, 1)[0]
	oneServer(t, binary, fmt.Sprintf("server_name: hub\nleafnodes { listen: \"127.0.0.1:%d\" }", leaves), "domain: hub")
	edge := oneServer(t, binary, fmt.Sprintf("server_name: edge\nleafnodes { remotes: [ { url: \"nats://127.0.0.1:%d\" } ] }", leaves), "domain: edge")
	useAll(t, "nats://"+edge+"/shop", jetstream.APIPrefix("$JS.hub.API"))
	nc, err := nats.Connect(edge)
	conformance.Must(t, err)
	defer nc.Close()
	hub, err := js.NewWithDomain(nc, "hub")
	conformance.Must(t, err)
	_, err = hub.Stream(t.Context(), "shop")
	conformance.Must(t, err)
}
