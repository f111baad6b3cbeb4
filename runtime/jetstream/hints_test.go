package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// settings are those of a stream that somebody has made by hand, as busgen would make it on
// three servers.
func settings() js.StreamConfig {
	return js.StreamConfig{
		Name: "bus", Subjects: []string{"bus.>"}, Storage: js.FileStorage, Discard: js.DiscardNew, Duplicates: 2 * time.Minute,
		AllowAtomicPublish: true, AllowRollup: true, AllowMsgTTL: true, AllowDirect: true,
	}
}

// oldServer lets a server say that it is of another version, which is as long.
type oldServer struct {
	*natsserver.Server
	version string
}

type oldConn struct {
	net.Conn
	version string
}

func (s oldServer) InProcessConn() (net.Conn, error) {
	conn, err := s.Server.InProcessConn()
	return oldConn{conn, s.version}, err
}

func (c oldConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	copy(p[:n], bytes.ReplaceAll(p[:n], []byte(`"version":"`+natsserver.VERSION), []byte(`"version":"`+c.version)))
	return n, err
}

// openOn opens a bus on a server, and returns what it logs.
func openOn(t *testing.T, connect func(...nats.Option) (*nats.Conn, error)) (logged string, err error) {
	t.Helper()
	var log bytes.Buffer
	through := jetstream.Through(func(string) (*nats.Conn, error) { return connect() })
	bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), jetstream.Engine(through))
	if err == nil {
		conformance.Must(t, bus.Shutdown(context.Background()))
	}
	return log.String(), err
}

// onServer runs a test on a server of its own with a stream, if make makes one.
func onServer(t *testing.T, change func(*js.StreamConfig), test func(t *testing.T, s *servertest.Server, client js.JetStream)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := servertest.Start(t, t.TempDir())
		nc, err := s.Connect()
		conformance.Must(t, err)
		defer nc.Close()
		client, _ := js.New(nc)
		if config := settings(); change != nil {
			change(&config)
			_, err := client.CreateStream(context.Background(), config)
			conformance.Must(t, err)
		}
		test(t, s, client)
	})
}

func TestOpenSaysWhichSettingsWeakenAPromise(t *testing.T) {
	for name, one := range map[string]struct {
		change func(*js.StreamConfig)
		want   string
	}{
		"one replica":          {func(*js.StreamConfig) {}, "has one replica"},
		"in memory":            {func(c *js.StreamConfig) { c.Storage = js.MemoryStorage }, "everything is lost"},
		"discard old":          {func(c *js.StreamConfig) { c.Discard = js.DiscardOld }, "--discard new"},
		"short time of ids":    {func(c *js.StreamConfig) { c.Duplicates = time.Second }, "--dupe-window 2m"},
		"messages of 64 KiB":   {func(c *js.StreamConfig) { c.MaxMsgSize = 64 << 10 }, "accept messages of 65536 bytes"},
		"made by busgen, once": {nil, "has one replica"},
	} {
		t.Run(name, func(t *testing.T) {
			onServer(t, one.change, func(t *testing.T, s *servertest.Server, _ js.JetStream) {
				logged, err := openOn(t, s.Connect)
				conformance.Must(t, err)
				if !strings.Contains(logged, one.want) {
					t.Errorf("Open logs\n%s\nwant %s", logged, one.want)
				}
				if n := strings.Count(logged, "level=WARN"); n != 1 && one.want == "has one replica" {
					t.Errorf("Open logs %d warnings, want 1:\n%s", n, logged)
				}
			})
		})
	}
}

func TestOpenSaysThatAServerIsNotOfATestedVersion(t *testing.T) {
	onServer(t, nil, func(t *testing.T, s *servertest.Server, _ js.JetStream) {
		logged, err := openOn(t, func(opts ...nats.Option) (*nats.Conn, error) {
			return nats.Connect("", append(opts, nats.InProcessServer(oldServer{s.Server, "2.13.2"}))...)
		})
		conformance.Must(t, err)
		if want := "A server is of version 2.13.2"; !strings.Contains(logged, want) {
			t.Errorf("Open logs\n%s\nwant %s", logged, want)
		}
	})
}

// Who runs the servers may export this to an account: by itself a client cannot know it.
func TestOpenSaysThatServersAcknowledgeBeforeTheyWriteToTheDisk(t *testing.T) {
	for _, always := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			system, app := natsserver.NewAccount("SYS"), natsserver.NewAccount("APP")
			s := servertest.StartWith(t, &natsserver.Options{
				StoreDir: t.TempDir(), SyncAlways: always, SyncInterval: 2 * time.Minute, Accounts: []*natsserver.Account{system, app}, SystemAccount: "SYS",
				Users: []*natsserver.User{{Username: "app", Password: "app", Account: app}},
			}, func(s *servertest.Server) {
				system, err := s.LookupAccount("SYS")
				conformance.Must(t, err)
				app, err := s.LookupAccount("APP")
				conformance.Must(t, err)
				conformance.Must(t, app.EnableJetStream(nil, nil))
				conformance.Must(t, system.AddServiceExport("$SYS.REQ.SERVER.PING.JSZ", nil))
				conformance.Must(t, app.AddServiceImport(system, "$SYS.REQ.SERVER.PING.JSZ", "$SYS.REQ.SERVER.PING.JSZ"))
			})
			logged, err := openOn(t, func(opts ...nats.Option) (*nats.Conn, error) {
				return s.Connect(append(opts, nats.UserInfo("app", "app"))...)
			})
			conformance.Must(t, err)
			if strings.Contains(logged, "sync_interval: always") == always {
				t.Errorf("with sync_interval always = %t Open logs\n%s", always, logged)
			}
		})
	}
}

func TestOpenRefusesAStreamThatIsNotItsOwn(t *testing.T) {
	for name, change := range map[string]func(*js.StreamConfig){
		"other subjects":   func(c *js.StreamConfig) { c.Subjects = []string{"orders.>"} },
		"no batches":       func(c *js.StreamConfig) { c.AllowAtomicPublish = false },
		"no roll-ups":      func(c *js.StreamConfig) { c.AllowRollup = false },
		"no time to live":  func(c *js.StreamConfig) { c.AllowMsgTTL = false },
		"no direct gets":   func(c *js.StreamConfig) { c.AllowDirect = false },
		"no deletes":       func(c *js.StreamConfig) { c.DenyDelete = true },
		"a greatest age":   func(c *js.StreamConfig) { c.MaxAge = time.Hour },
		"discarded by age": func(c *js.StreamConfig) { c.Discard, c.MaxBytes = js.DiscardOld, 1<<20 },
		"a work queue":     func(c *js.StreamConfig) { c.Retention = js.WorkQueuePolicy },
	} {
		t.Run(name, func(t *testing.T) {
			onServer(t, change, func(t *testing.T, s *servertest.Server, _ js.JetStream) {
				_, err := openOn(t, s.Connect)
				wantFault(t, err, event.Foreign)
			})
		})
	}
	t.Run("messages of somebody else", func(t *testing.T) {
		onServer(t, func(*js.StreamConfig) {}, func(t *testing.T, s *servertest.Server, client js.JetStream) {
			_, err := client.Publish(context.Background(), "bus.d.what", []byte("is this?"))
			conformance.Must(t, err)
			_, err = openOn(t, s.Connect)
			wantFault(t, err, event.Foreign)
		})
	})
}

func TestOpenRefusesRecordsOfANewerVersion(t *testing.T) {
	onServer(t, nil, func(t *testing.T, s *servertest.Server, client js.JetStream) {
		_, err := openOn(t, s.Connect)
		conformance.Must(t, err)
		_, err = client.Publish(context.Background(), "bus.n", []byte(`{"format":1000}`))
		conformance.Must(t, err)
		_, err = openOn(t, s.Connect)
		wantFault(t, err, event.TooNew)
	})
}

func TestOpenRefusesAServerThatIsTooOldForAtomicBatches(t *testing.T) {
	onServer(t, nil, func(t *testing.T, s *servertest.Server, _ js.JetStream) {
		_, err := openOn(t, func(opts ...nats.Option) (*nats.Conn, error) {
			return nats.Connect("", append(opts, nats.InProcessServer(oldServer{s.Server, "2.11.9"}))...)
		})
		wantFault(t, err, event.TooOld)
	})
}

func TestOpenSaysThatJetStreamIsNotEnabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := servertest.StartWith(t, &natsserver.Options{}, nil)
		_, err := openOn(t, s.Connect)
		wantFault(t, err, event.Unreachable)
		if !strings.Contains(err.Error(), "JetStream is enabled") {
			t.Error(err)
		}
	})
}

func TestOpenSaysThatThereAreTooFewServersForTheReplicas(t *testing.T) {
	onServer(t, nil, func(t *testing.T, s *servertest.Server, _ js.JetStream) {
		through := jetstream.Through(func(string) (*nats.Conn, error) { return s.Connect() })
		_, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, jetstream.Engine(through, jetstream.Replicas(3)))
		wantFault(t, err, event.IO)
		if !strings.Contains(err.Error(), "jetstream.Replicas") {
			t.Error(err)
		}
	})
}

func wantFault(t *testing.T, err error, want event.Fault) {
	t.Helper()
	var storage *event.StorageError
	if !errors.As(err, &storage) || storage.Fault != want || storage.InDoubt {
		t.Fatalf("Open returns %v, want a StorageError of fault %q", err, want)
	}
	t.Log(err)
}
