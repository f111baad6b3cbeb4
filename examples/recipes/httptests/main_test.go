package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/examples/recipes/generated/eventstest"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// inProcess answers the requests of a client without a network. It gives up when the client does.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		p.ServeHTTP(answer, r)
	}()
	select {
	case <-done:
		return answer.Result(), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// provider is the server of the test: it keeps the keys of the mails.
type provider struct {
	requests atomic.Int64
	mails    chan string
	trouble  func(request int64, w http.ResponseWriter) (refused bool)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.trouble(p.requests.Add(1), w) {
		return
	}
	p.mails <- r.Header.Get("Idempotency-Key")
}

func placed(id string) events.OrderPlaced {
	return events.OrderPlaced{OrderID: id, Email: "ada@example.org", Cents: 500}
}

func TestAReceiptIsSentAfterTroubleOfTheProvider(t *testing.T) {
	for name, trouble := range map[string]func(int64, http.ResponseWriter) bool{
		"it is down": func(request int64, w http.ResponseWriter) bool {
			if request > 2 {
				return false
			}
			w.WriteHeader(http.StatusBadGateway)
			return true
		},
		"it does not answer": func(request int64, _ http.ResponseWriter) bool {
			if request > 1 {
				return false
			}
			time.Sleep(time.Minute) // no real time
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
				p := &provider{mails: make(chan string, 10), trouble: trouble}
				m := &mailer{client: &http.Client{Transport: inProcess{p}, Timeout: 5 * time.Second}, url: "http://mail.example"}
				kit.Setup(m.subscribe)
				receipt := kit.Publish(placed("a"))[0]
				kit.Drain()
				if len(p.mails) != 1 || <-p.mails != receipt.ID.String() || len(kit.AllDeadLetters()) > 0 {
					t.Errorf("%d mails more, dead letters: %v", len(p.mails), kit.AllDeadLetters())
				}
				time.Sleep(time.Minute) // the answer that nobody waits for any more
			})
		})
	}
}

func TestAReceiptThatIsSentAgainHasTheSameKey(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		p := &provider{mails: make(chan string, 10), trouble: func(int64, http.ResponseWriter) bool { return false }}
		m := &mailer{client: &http.Client{Transport: inProcess{p}}, url: "http://mail.example"}
		kit.Setup(m.subscribe)
		kit.Break(events.OnOrderPlacedSendReceipt.String(), 1, runtimetest.FailsAfter(context.DeadlineExceeded))
		kit.Publish(placed("a"))
		kit.Drain()
		if len(p.mails) != 2 || <-p.mails != <-p.mails {
			t.Error("the second request has another key, or there is none")
		}
	})
}

// One test has a real connection and real time: the URL, the headers and the end of the program are right.
func TestTheProgramSendsOverTheNetwork(t *testing.T) {
	p := &provider{mails: make(chan string, 1), trouble: func(int64, http.ResponseWriter) bool { return false }}
	server := httptest.NewServer(p)
	defer server.Close()
	ctx, end := context.WithCancel(t.Context())
	db := filepath.Join(t.TempDir(), "mails.db")
	publisher, err := events.Open(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	defer publisher.Shutdown(context.WithoutCancel(ctx))
	receipt, err := events.PublishOrderPlaced(ctx, publisher, placed("a"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, db, &mailer{client: server.Client(), url: server.URL}) }()
	if key := <-p.mails; key != receipt.ID.String() {
		t.Error("the key is", key)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
