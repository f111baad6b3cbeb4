//go:build unix

package jetstream_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// documented returns the settings of servers that the page shows: those of each server, of accounts, and of
// certificates.
func documented(t *testing.T) (server, accounts, tls string) {
	t.Helper()
	all := blocks(t, "conf", 4)
	return all[0], all[1], all[2]
}

// blocks returns the blocks of a language that the page shows: so many.
func blocks(t *testing.T, language string, want int) (all []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/jetstream.md")
	conformance.Must(t, err)
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(page, -1) {
		all = append(all, string(found[1]))
	}
	if len(all) != want {
		t.Fatalf("the page has %d blocks of %s, and this test knows %d", len(all), language, want)
	}
	return all
}

// replaced replaces parts of a text, each of which must be there.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%q is not in\n%s", pairs[i], text)
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// asDocumented starts three servers with what the page shows, as processes, and returns them and their hosts. Only ports,
// folders and passwords are others than those of the page.
func asDocumented(t *testing.T, binary servertest.Binary, certificates string) (all []*servertest.Configured, hosts string) {
	t.Helper()
	settings, accounts, tls := documented(t)
	t.Setenv("SHOP_PASSWORD", "s3cret")
	t.Setenv("ADMIN_PASSWORD", "4dmin")
	if certificates != "" {
		accounts += replaced(t, tls, "/etc/nats", certificates)
	}
	ports := servertest.Ports(t, 6)
	var addresses []string
	for i, name := range []string{"a", "b", "c"} {
		one := replaced(t, settings,
			"server_name: a ", "server_name: "+name+" ", "/var/lib/nats", t.TempDir(), "0.0.0.0:6222", fmt.Sprintf("127.0.0.1:%d", ports[3+i]),
			"a:6222", fmt.Sprintf("127.0.0.1:%d", ports[3]), "b:6222", fmt.Sprintf("127.0.0.1:%d", ports[4]), "c:6222", fmt.Sprintf("127.0.0.1:%d", ports[5]),
		)
		address := fmt.Sprintf("127.0.0.1:%d", ports[i])
		addresses = append(addresses, address)
		server, err := binary.Start(t, fmt.Sprintf("listen: %q\n%s%s", address, one, accounts))
		conformance.Must(t, err)
		all = append(all, server)
	}
	return all, strings.Join(addresses, ",")
}

// certify makes an authority in a folder, and certificates of it for the servers and for a program.
func certify(t *testing.T, dir string) {
	t.Helper()
	write := func(name, kind string, der []byte) {
		conformance.Must(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	var authority *x509.Certificate
	var signer *ecdsa.PrivateKey
	for i, name := range []string{"ca", "server", "client"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		conformance.Must(t, err)
		one := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		if authority == nil {
			one.IsCA, one.BasicConstraintsValid, one.KeyUsage = true, true, x509.KeyUsageCertSign
			authority, signer = one, key
		}
		der, err := x509.CreateCertificate(rand.Reader, one, authority, key.Public(), signer)
		conformance.Must(t, err)
		write(name+".pem", "CERTIFICATE", der)
		secret, err := x509.MarshalECPrivateKey(key)
		conformance.Must(t, err)
		write(name+"-key.pem", "EC PRIVATE KEY", secret)
	}
}

// useAll uses a bus in all ways that ask something else of the servers, as a program and as an operator.
func useAll(t *testing.T, target string, opts ...jetstream.Option) (logged string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	var log bytes.Buffer
	defer func() {
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	bus, err := runtime.Open(ctx, target, conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), jetstream.Engine(opts...), runtime.WithRetention(time.Millisecond))
	conformance.Must(t, err)
	_, err = runtime.PublishBatch(ctx, bus, conformance.PaidType, make([]conformance.OrderPaid, 2000))
	conformance.Must(t, err)
	_, err = runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: strings.Repeat("A", 900<<10)}, runtime.WithDedupeKey("large"))
	conformance.Must(t, err)
	var paid, placed atomic.Int64
	_, err = runtime.Subscribe(bus, conformance.PaidType, "paid", func(context.Context, runtime.Event[conformance.OrderPaid]) error {
		paid.Add(1)
		return nil
	}, runtime.FromBeginning(), runtime.WithConcurrency(4))
	conformance.Must(t, err)
	_, err = runtime.Subscribe(bus, conformance.PlacedType, "placed", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		placed.Add(1)
		if e.Payload.Number == 2 {
			return runtime.Permanent(errors.New("no such order"))
		}
		return nil
	}, runtime.FromBeginning())
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(ctx))
	_, err = runtime.Publish(ctx, bus, conformance.PlacedType, conformance.OrderPlaced{Number: 2})
	conformance.Must(t, err)
	conformance.Must(t, bus.WaitIdle(ctx))
	if paid.Load() != 2001 || placed.Load() != 1 {
		t.Errorf("%d and %d events were handled, want 2001 and 1", paid.Load(), placed.Load())
	}
	file, err := inspect.Open(ctx, target, jetstream.Inspect(opts...))
	conformance.Must(t, err)
	status, err := file.Status(ctx)
	conformance.Must(t, err)
	if status.DeadLetters != 1 {
		t.Errorf("the bus has %d dead letters, want 1", status.DeadLetters)
	}
	conformance.Must(t, file.Close())
	conformance.Must(t, bus.Shutdown(ctx))
	return log.String()
}

// unexpected is what a bus logs if it lacks a setting or a permission.
var unexpected = regexp.MustCompile("keep less than|client of NATS|cannot be|reads a message")

// violations are what servers log about something that a user may not do.
var violations = regexp.MustCompile(`.*Violation.*`)

func TestTheSettingsOfThePageMakeServersThatABusCanUse(t *testing.T) {
	for _, binary := range servertest.Binaries(t) {
		t.Run(binary.Version, func(t *testing.T) {
			certificates := t.TempDir()
			certify(t, certificates)
			servers, hosts := asDocumented(t, binary, certificates)
			who := jetstream.Options(
				nats.UserInfo("shop", "s3cret"), nats.ClientCert(filepath.Join(certificates, "client.pem"), filepath.Join(certificates, "client-key.pem")),
				nats.RootCAs(filepath.Join(certificates, "ca.pem")),
			)
			if logged := useAll(t, "tls://"+hosts+"/shop", who); unexpected.MatchString(logged) {
				t.Errorf("the bus logs\n%s", logged)
			}
			for _, server := range servers {
				if wrong := violations.FindAllString(server.Log(), -1); len(wrong) > 0 {
					t.Errorf("a server logs\n%s", strings.Join(wrong, "\n"))
				}
			}
		})
	}
}
