package busprom_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

// The shop of examples/shop stays open with -serve. It has no Collector, but what WriteMetrics
// writes, and the size of its file. The dashboard shows all of it.
func TestTheDashboardShowsTheShop(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the shop")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	address := openShop(t, ctx)
	page, err := fetch(ctx, "http://"+address+"/metrics")
	conformance.Must(t, err)
	families := parsed(t, page)
	for _, p := range charts(t) {
		for _, target := range p.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				if families[histogramPart.ReplaceAllString(name, "")] == nil && families[name] == nil {
					t.Errorf("%s: the shop has no metric %s", p.Title, name)
				}
			}
		}
	}
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED: there is no prometheus in the path (apt-get install prometheus); only the names of the metrics were compared")
	}
	server := startPrometheus(t, ctx, binary, address, "/metrics")
	awaitPanels(t, ctx, server, func(int) {})
}

var histogramPart = regexp.MustCompile(`_(bucket|sum|count)$`)

// openShop starts the shop as a process of its own, and returns its address.
func openShop(t *testing.T, ctx context.Context) string {
	t.Helper()
	folder := t.TempDir()
	binary := filepath.Join(folder, "shop")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./examples/shop")
	build.Dir = filepath.Join("..", "..") // its module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	command := exec.Command(binary, "-db", filepath.Join(folder, "shop.db"), "-serve", "127.0.0.1:0")
	out, err := command.StdoutPipe()
	conformance.Must(t, err)
	conformance.Must(t, command.Start())
	t.Cleanup(func() {
		command.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(30*time.Second, func() { command.Process.Kill() })
		defer kill.Stop()
		said, _ := io.ReadAll(out)
		if command.Wait(); command.ProcessState.ExitCode() != 130 { // as after any interrupt
			t.Errorf("the shop has ended with %v and said:\n%s", command.ProcessState, said)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := regexp.MustCompile(`http://(\S+)/metrics`).FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	t.Fatal("the shop has not said its address")
	return ""
}

// fetch returns what is at an address.
func fetch(ctx context.Context, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}
