package busprom_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	busprom "github.com/busgen/busgen/runtime/prometheus"
	"github.com/busgen/busgen/runtime/retry"
)

// A real Prometheus scrapes a bus with the catalogue of the shop, and evaluates every
// expression of the dashboard.
func TestEveryPanelOfTheDashboardHasData(t *testing.T) {
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED: there is no prometheus in the path (apt-get install prometheus), so no panel of the dashboard was evaluated by one")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	bus, path := shop(t)
	registry := prometheus.NewRegistry()
	conformance.Must(t, registry.Register(busprom.NewCollector(bus, busprom.WithFile(path))))
	pages := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	defer pages.Close()
	server := startPrometheus(t, ctx, binary, pages.Listener.Addr().String(), "/")
	awaitPanels(t, ctx, server, func(n int) { customer(t, ctx, bus, n) })
}

// awaitPanels waits until every expression of the dashboard has data. It calls meanwhile again
// and again.
func awaitPanels(t *testing.T, ctx context.Context, server string, meanwhile func(n int)) {
	t.Helper()
	missing := map[string]string{}
	for _, p := range charts(t) {
		for i, target := range p.Targets {
			missing[fmt.Sprint(p.Title, " ", i)] = forPrometheus.Replace(target.Expr)
		}
	}
	all := len(missing)
	for n := 0; len(missing) > 0 && ctx.Err() == nil; n++ {
		meanwhile(n)
		time.Sleep(100 * time.Millisecond) // a real server, in real time
		if n%5 > 0 {
			continue
		}
		for name, expr := range missing {
			switch found, err := query(ctx, server, expr); {
			case errors.Is(err, errRefused):
				t.Fatalf("%s: %v", name, err)
			case err == nil && found:
				delete(missing, name)
			}
		}
	}
	for name, expr := range missing {
		t.Errorf("%s has no data: %s", name, expr)
	}
	t.Logf("%d expressions have data", all-len(missing))
}

// shop opens a bus with handlers to which everything happens that a panel shows.
func shop(t *testing.T) (*runtime.Bus, string) {
	path := filepath.Join(t.TempDir(), "shop.db")
	bus, err := events.Open(t.Context(), path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	conformance.Must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	_, err = events.SubscribeUserRegistered(bus, "welcome", func(_ context.Context, e runtime.Event[events.UserRegistered]) error {
		time.Sleep(time.Millisecond)
		switch {
		case e.Payload.Email == "retry@example.org" && e.Attempt == 1:
			return runtime.RetryAfter(10*time.Millisecond, errors.New("the mail server is busy"))
		case e.Payload.Email == "dead@example.org":
			return runtime.Permanent(errors.New("no such mailbox"))
		case e.Payload.Email == "snooze@example.org" && e.Attempt == 1:
			return runtime.Snooze(10 * time.Millisecond)
		}
		return nil
	}, runtime.WithRetry(retry.MaxAttempts(2)))
	conformance.Must(t, err)
	_, err = runtime.SubscribeBatch(bus, events.UserRegisteredType, "export", func(context.Context, []runtime.Event[events.UserRegistered]) error { return nil }, runtime.WithBatch(5, 50*time.Millisecond))
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	return bus, path
}

// customer registers, one in four with trouble.
func customer(t *testing.T, ctx context.Context, bus *runtime.Bus, n int) {
	id, err := uuid.NewV7()
	conformance.Must(t, err)
	for _, email := range []string{"ada@example.org", "retry@example.org", "dead@example.org", "snooze@example.org"} {
		// The same key again makes a duplicate, of the next one.
		user := events.UserRegistered{UserID: id, Email: email}
		key := runtime.WithDedupeKey(fmt.Sprint(n, email))
		for range 2 {
			if _, err := events.PublishUserRegistered(ctx, bus, user, key); err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
		}
	}
}

// startPrometheus starts a server that scrapes a path of a target, and returns its address.
func startPrometheus(t *testing.T, ctx context.Context, binary, target, path string) string {
	t.Helper()
	folder := t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs: [{job_name: shop, metrics_path: %s, static_configs: [{targets: ['%s']}]}]\n", path, target)
	conformance.Must(t, os.WriteFile(config, []byte(text), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	conformance.Must(t, err)
	address := listener.Addr().String()
	listener.Close()
	var out bytes.Buffer
	command := exec.CommandContext(ctx, binary, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	command.Stdout, command.Stderr = &out, &out
	conformance.Must(t, command.Start())
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
		if t.Failed() {
			t.Logf("prometheus says:\n%s", out.String())
		}
	})
	return "http://" + address
}

// errRefused says that an expression is no good.
var errRefused = errors.New("prometheus refuses the expression")

// query tells whether an expression has a value that is a number.
func query(ctx context.Context, server, expr string) (bool, error) {
	r, err := http.NewRequestWithContext(ctx, "GET", server+"/api/v1/query?query="+url.QueryEscape(expr), nil)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false, err // it is not up yet
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return false, err
	}
	if response.StatusCode == http.StatusBadRequest {
		return false, fmt.Errorf("%w %s: %s", errRefused, expr, answer.Error)
	}
	for _, one := range answer.Data.Result {
		if v, ok := one.Value[1].(string); ok && v != "NaN" {
			return true, nil
		}
	}
	return false, nil
}
