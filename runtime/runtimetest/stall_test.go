package runtimetest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
)

// A server in virtual time waits for connections, and a goroutine that waits for a network is never idle.
func TestAServerInVirtualTimeIsNoticed(t *testing.T) {
	if os.Getenv("RUNTIMETEST_STALL") != "" {
		stalledAfter = 300 * time.Millisecond
		Run(t, runtime.NewCatalogue(), func(t *testing.T, k *Kit) {
			server := httptest.NewServer(http.NotFoundHandler())
			defer server.Close()
			k.Advance(time.Minute)
		})
		return
	}
	t.Parallel()
	child := exec.Command(os.Args[0], "-test.run", "^TestAServerInVirtualTimeIsNoticed$", "-test.timeout", "5m")
	child.Env = append(os.Environ(), "RUNTIMETEST_STALL=1")
	out, err := child.CombinedOutput()
	if err == nil {
		t.Fatal("the test ended")
	}
	for _, want := range []string{"the virtual time of the test stands still: for 300ms of real time", "Servers in a test", "IO wait", "net/http/httptest.(*Server)"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// inProcess answers the requests of a client without a network.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, r)
	return answer.Result(), nil
}

func TestAClientWithoutANetworkFitsIntoVirtualTime(t *testing.T) {
	Run(t, runtime.NewCatalogue(), func(t *testing.T, k *Kit) {
		client := &http.Client{Transport: inProcess{http.NotFoundHandler()}, Timeout: time.Minute}
		got, err := client.Post("http://example.org/hook", "application/json", strings.NewReader("{}"))
		if err != nil || got.StatusCode != http.StatusNotFound {
			t.Fatal(got, err)
		}
		k.Advance(time.Hour)
	})
}

// A test that only waits in virtual time, or that computes, is left alone.
func TestATestThatTakesItsTimeIsLeftAlone(t *testing.T) {
	short.Skip(t, "it takes real time")
	before := stalledAfter
	stalledAfter = 60 * time.Millisecond
	defer func() { stalledAfter = before }()
	Run(t, runtime.NewCatalogue(), func(t *testing.T, k *Kit) {
		for range 1000 {
			k.Advance(time.Minute)
		}
	})
}
