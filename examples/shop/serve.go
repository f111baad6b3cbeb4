package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page"
)

// servingPace is how long the shop waits between two orders while it serves: there should be
// something to watch, for hours if need be.
const servingPace = 200 * time.Millisecond

// stayOpen sells slowly, and serves the metrics and the page for operators, until ctx ends.
func (s *shop) stayOpen(ctx context.Context, o options, listener net.Listener, out io.Writer) error {
	file, err := inspect.Open(ctx, o.db)
	if err != nil {
		return err
	}
	defer file.Close()
	operators, err := page.New(file, page.WithCatalogue(events.Catalogue))
	if err != nil {
		return err
	}
	defer operators.Close()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) { writeMetrics(r.Context(), w, s.bus, o.db) })
	mux.Handle("/operators/", operators)
	server := &http.Server{Handler: knownHosts(mux), ReadHeaderTimeout: 10 * time.Second}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("serve: %w", err))
		}
	}()
	// Close does not wait for requests: a page that follows the bus would never end by itself.
	defer func() { server.Close(); <-served }()

	fmt.Fprintf(out, "\nThe shop stays open, and sells %d orders per second, until Ctrl-C:\n", time.Second/servingPace)
	fmt.Fprintf(out, "  http://%s/metrics     for Prometheus; the dashboard is runtime/prometheus/dashboard.json\n", listener.Addr())
	fmt.Fprintf(out, "  http://%s/operators/  how the bus is doing\n", listener.Addr())
	last, err := s.ledger.lastNumber(ctx)
	if err != nil {
		return err
	}
	var sold atomic.Int64
	for ctx.Err() == nil {
		if err := s.takeOrders(ctx, last+sold.Load(), options{orders: 1, publishers: 1}, &sold); err != nil {
			return err
		}
		sleep(ctx, servingPace)
	}
	return context.Cause(ctx)
}

// writeMetrics answers a scrape. The bus writes its own metrics; the size of the file is one
// that the program adds.
func writeMetrics(ctx context.Context, w http.ResponseWriter, bus *runtime.Bus, db string) {
	var text bytes.Buffer
	if err := bus.WriteMetrics(ctx, &text); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprint(&text, "# HELP busgen_file_bytes Size of the file of the bus, and of its write-ahead log.\n# TYPE busgen_file_bytes gauge\n")
	for _, one := range []struct{ label, path string }{{"database", db}, {"wal", db + "-wal"}} {
		if info, err := os.Stat(one.path); err == nil {
			fmt.Fprintf(&text, "busgen_file_bytes{file=%q} %d\n", one.label, info.Size())
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	w.Write(text.Bytes())
}

// listen opens the port of -serve. An address without a host is one of this machine, which
// others cannot reach.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("-serve %s: %w", addr, err)
	}
	return listener, nil
}

// knownHosts refuses requests for a name other than localhost. A site could make its name lead
// to this machine, and read the page with the browser of a visitor.
func knownHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "Use the number of this machine, or localhost.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
