package sdktest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/cloudevents/sdk-go/v2"
	sdkhttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
)

// childFile is the variable with the file of a process that receives, and childWaits the one with where
// it says that it is there, and waits to be killed: an event of the batch, or "stored". Before a number
// with a plus sign it does not wait.
const (
	childFile  = "SDKTEST_FILE"
	childWaits = "SDKTEST_WAITS"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		if err := receive(path, os.Getenv(childWaits)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// receive serves until the process is killed.
func receive(path, waits string) error {
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the test
		os.Exit(1)
	}()
	there := func() {
		fmt.Println("there")
		if !strings.HasPrefix(waits, "+") {
			select {}
		}
	}
	place, _ := strconv.Atoi(waits)
	var seen atomic.Int64
	bus, err := runtime.Open(context.Background(), path, catalogue, quiet, runtime.WithPublishMiddleware(func(context.Context, *runtime.Publication) error {
		if seen.Add(1) == int64(place) {
			there()
		}
		return nil
	}))
	if err != nil {
		return err
	}
	handler := cloudevents.Receive(bus)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if waits == "stored" {
			there()
		}
		w.WriteHeader(answer.Code)
	}))
	fmt.Println(server.URL)
	select {}
}

// received starts a process that receives.
type received struct {
	*exec.Cmd
	url   string
	lines *bufio.Scanner
}

func startChild(t *testing.T, path, waits string) *received {
	t.Helper()
	c := &received{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), childFile+"="+path, childWaits+"="+waits)
	c.Stderr = os.Stderr
	_, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() { c.kill() })
	c.lines = bufio.NewScanner(out)
	if !c.lines.Scan() {
		t.Fatal("the process has not begun")
	}
	c.url = c.lines.Text()
	return c
}

func (c *received) kill() {
	c.Process.Kill() // SIGKILL
	c.Wait()
}

func TestABatchOfAThousandIsStoredOnceWhereverTheReceiverIsKilled(t *testing.T) {
	var batch []sdk.Event
	for i := range 1000 {
		batch = append(batch, paid(t, fmt.Sprint(i)))
	}
	send := func(url string) (int, error) {
		request, err := sdkhttp.NewHTTPRequestFromEvents(context.Background(), url, batch)
		if err != nil {
			return 0, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		answer.Body.Close()
		return answer.StatusCode, nil
	}
	// The last ones are killed around the commit, sooner or later.
	for _, waits := range []string{"1", "500", "1000", "stored", "+1000", "+1000", "+1000", "+1000", "+990", "+990"} {
		t.Run(waits, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shop.db")
			child := startChild(t, path, waits)
			done := make(chan error)
			go func() {
				_, err := send(child.url)
				done <- err
			}()
			if !child.lines.Scan() || child.lines.Text() != "there" {
				t.Fatal("the process was not where it is to be killed")
			}
			child.kill()
			if err := <-done; err == nil && !strings.HasPrefix(waits, "+") {
				t.Error("a process that was killed has answered")
			}
			before := len(stored(t, path))
			if want := map[string]int{"stored": 1000}[waits]; before != want && !(strings.HasPrefix(waits, "+") && before == 1000) {
				t.Errorf("the process that was killed has stored %d events, want %d", before, want)
			}
			again := startChild(t, path, "")
			if status, err := send(again.url); status != http.StatusAccepted || err != nil {
				t.Fatalf("repeated: %d %v", status, err)
			}
			again.kill()
			ids := map[string]int{}
			for _, e := range stored(t, path) {
				var metadata map[string]string
				must(t, errors.Join(json.Unmarshal(e.Metadata, &metadata)))
				ids[metadata["ce-id"]]++
			}
			for i := range 1000 {
				if n := ids[fmt.Sprint(i)]; n != 1 {
					t.Fatalf("event %d is stored %d times", i, n)
				}
			}
			if len(ids) != 1000 {
				t.Errorf("%d ids are stored", len(ids))
			}
			t.Logf("%d were stored before", before)
		})
	}
}
