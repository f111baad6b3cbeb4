package cloudevents_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// asks sends OPTIONS.
func (r *receiver) asks(origins ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodOptions, "/", nil)
	for _, origin := range origins {
		request.Header.Add("WebHook-Request-Origin", origin)
	}
	request.Header.Set("WebHook-Request-Rate", "120")
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, request)
	return answer
}

func TestAHandshakeIsAnsweredForTheOriginsThatAreAllowed(t *testing.T) {
	short.Visit(t, "it tries many documents")
	for what, test := range map[string]struct {
		opts    []cloudevents.ReceiveOption
		origins []string
		status  int
		allowed string
		rate    string
	}{
		"without the option":    {nil, []string{"crm.example"}, 405, "", ""},
		"one that is allowed":   {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("x.example", "crm.example")}, []string{"crm.example"}, 200, "crm.example", "*"},
		"in capitals":           {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("crm.example")}, []string{"CRM.example"}, 200, "CRM.example", "*"},
		"all, and a rate":       {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("*"), cloudevents.AllowRate(100)}, []string{"crm.example"}, 200, "crm.example", "100"},
		"another one":           {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("crm.example")}, []string{"evil.example"}, 403, "", ""},
		"one of two":            {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("crm.example")}, []string{"crm.example", "evil.example"}, 403, "", ""},
		"a star of the sender":  {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("*")}, []string{"*"}, 403, "", ""},
		"text that is no name":  {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("*")}, []string{"a, b"}, 403, "", ""},
		"nobody who asks":       {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("*")}, nil, 200, "", ""},
		"a name that is longer": {[]cloudevents.ReceiveOption{cloudevents.AllowOrigins("crm.example")}, []string{"crm.example.evil"}, 403, "", ""},
	} {
		r := receive(t, test.opts...)
		answer := r.asks(test.origins...)
		header := answer.Header()
		if answer.Code != test.status || header.Get("WebHook-Allowed-Origin") != test.allowed || header.Get("WebHook-Allowed-Rate") != test.rate {
			t.Errorf("%s: %d %v", what, answer.Code, header)
		}
		if test.status != 403 && !strings.Contains(header.Get("Allow"), "POST") {
			t.Errorf("%s: the answer does not allow POST: %v", what, header)
		}
	}
	r := receive(t, cloudevents.AllowOrigins("crm.example"))
	for origin, want := range map[string]int{"": 202, "crm.example": 202, "evil.example": 403} {
		headers := []string{structured}
		if origin != "" {
			headers = append(headers, "WebHook-Request-Origin: "+origin)
		}
		if answer := r.post(one(`,"data":`+paid), headers...); answer.Code != want {
			t.Errorf("an event of origin %q: %d", origin, answer.Code)
		}
	}
}

func TestForwardSendsNothingWithoutThePermissionThatItAsksFor(t *testing.T) {
	short.Skip(t, "it waits for answers that do not come")
	for what, test := range map[string]struct {
		answers http.HandlerFunc // to OPTIONS
		rate    int
		says    string        // in the error; empty if it is permitted
		after   time.Duration // the third event is sent
	}{
		"permitted":             {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("WebHook-Allowed-Origin", "shop.example") }, 0, "", 0},
		"all are":               {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("WebHook-Allowed-Origin", "*") }, 0, "", 0},
		"at its rate":           {permitting("6"), 0, "", 20 * time.Second},
		"at the rate asked for": {permitting("*"), 12, "", 10 * time.Second},
		"at the lower one":      {permitting("30"), 12, "", 10 * time.Second},
		"at a very low one":     {permitting("1"), 0, "", 2 * time.Minute},
		"no header":             {func(http.ResponseWriter, *http.Request) {}, 0, "has no header WebHook-Allowed-Origin", 0},
		"another origin":        {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("WebHook-Allowed-Origin", "x.example") }, 0, "it permits x.example", 0},
		"a rate that is none":   {permitting("many"), 0, "WebHook-Allowed-Rate", 0},
		"no OPTIONS":            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }, 0, "it has answered 405 Method Not Allowed to OPTIONS", 0},
		"headers of a failure": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WebHook-Allowed-Origin", "*")
			w.WriteHeader(404)
		}, 0, "404", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			asked, sent, at := 0, []string{}, time.Duration(0)
			hook := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("WebHook-Request-Origin") != "shop.example" {
					t.Errorf("%s: %s without an origin", what, r.Method)
				}
				if r.Method == http.MethodOptions {
					if asked++; r.Header.Get("WebHook-Request-Rate") != map[bool]string{true: fmt.Sprint(test.rate)}[test.rate > 0] {
						t.Errorf("%s: asked for the rate %q", what, r.Header.Get("WebHook-Request-Rate"))
					}
					test.answers(w, r)
					return
				}
				sent, at = append(sent, r.Method), time.Since(began)
			})
			f := conformance.SQLite.OpenOutside(t)
			defer f.Stop()
			_, err := cloudevents.Forward(f.Bus, "*", "partner", cloudevents.Webhook{
				URL: "https://partner.example", Origin: "shop.example", Rate: test.rate, Client: &http.Client{Transport: through{hook}},
			}, runtime.WithRetry(retry.MaxAttempts(1)))
			conformance.Must(t, err)
			f.MustStart()
			f.Publish(1, 2, 3)
			f.Idle()
			if test.says == "" {
				if at = at.Round(5 * time.Second); len(sent) != 3 || asked != 1 || at != test.after {
					t.Errorf("%s: %d events were sent in %v, and it asked %d times", what, len(sent), at, asked)
				}
				time.Sleep(2 * time.Hour)
				f.Publish(4)
				f.Idle()
				if len(sent) != 4 || asked != 2 {
					t.Errorf("%s: hours later: %d events were sent, and it asked %d times", what, len(sent), asked)
				}
				return
			}
			letters := conformance.SQLite.Dead(t, f.Path)
			if len(sent) != 0 || len(letters) != 3 || !strings.Contains(letters[0].LastAttempt().Error, test.says) {
				t.Errorf("%s: sent %d, dead letters %+v", what, len(sent), letters)
			}
		})
	}
}

// permitting returns what permits all origins and a rate.
func permitting(rate string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WebHook-Allowed-Origin", r.Header.Get("WebHook-Request-Origin"))
		w.Header().Set("WebHook-Allowed-Rate", rate)
	}
}

func TestOneBusAsksAnotherForPermission(t *testing.T) {
	short.Visit(t, "it tries many documents")
	synctest.Test(t, func(t *testing.T) {
		to := receive(t, cloudevents.AllowOrigins("shop.example"), cloudevents.AllowRate(60))
		from := conformance.SQLite.OpenOutside(t)
		defer from.Stop()
		_, err := cloudevents.Forward(from.Bus, "*", "partner", cloudevents.Webhook{URL: "https://partner.example", Origin: "shop.example", Client: &http.Client{Transport: through{to}}},
			runtime.WithConcurrency(8))
		conformance.Must(t, err)
		from.MustStart()
		began := time.Now()
		for n := range 60 {
			from.Publish(n)
		}
		from.Idle()
		if n := len(to.stored(t)); n != 60 {
			t.Errorf("%d events came in, refused were %v", n, to.refusals)
		}
		if took := time.Since(began); took < 59*time.Second || took > 70*time.Second {
			t.Errorf("60 events at 60 per minute took %v", took)
		}
		if letters := conformance.SQLite.Dead(t, from.Path); len(letters) != 0 {
			t.Errorf("dead letters: %+v", letters)
		}
	})
}

// body is one that says whether it was read, and never ends.
type body struct {
	read   bool
	closed chan struct{}
}

func (b *body) Read([]byte) (int, error) {
	b.read = true
	<-b.closed
	return 0, errors.New("closed")
}

func (b *body) Close() error { return nil }

func TestTheBodyOfARequestWithoutASignatureIsNotRead(t *testing.T) {
	r := receive(t, cloudevents.Signed(oldSecret))
	for what, headers := range map[string][]string{
		"nothing":         nil,
		"an old one":      {"Webhook-Id: 1", "Webhook-Timestamp: 1", "Webhook-Signature: v1,AAAA"},
		"no digest":       {"Webhook-Id: 1", fmt.Sprintf("Webhook-Timestamp: %d", time.Now().Unix()), "Webhook-Signature: v1,AAAA"},
		"another scheme":  {"Webhook-Id: 1", fmt.Sprintf("Webhook-Timestamp: %d", time.Now().Unix()), "Webhook-Signature: v2,AAAA"},
		"two time stamps": {"Webhook-Id: 1", "Webhook-Timestamp: 1", "Webhook-Timestamp: 2", "Webhook-Signature: v1,AAAA"},
	} {
		b := &body{closed: make(chan struct{})}
		close(b.closed)
		request := httptest.NewRequest(http.MethodPost, "/", b)
		for _, header := range append(slices.Clone(headers), structured) {
			name, value, _ := strings.Cut(header, ": ")
			request.Header.Add(name, value)
		}
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, request)
		if answer.Code != http.StatusUnauthorized || b.read {
			t.Errorf("%s: %d, the body was read: %v", what, answer.Code, b.read)
		}
	}
}

func TestTheAnswersOfAWebhookAreReadSoThatItsConnectionIsUsedAgain(t *testing.T) {
	connections := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, strings.Repeat("thank you ", 1000))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections++
		}
	}
	server.Start()
	f := conformance.SQLite.OpenOutside(t)
	_, err := cloudevents.Forward(f.Bus, "*", "partner", cloudevents.Webhook{URL: server.URL})
	conformance.Must(t, err)
	f.MustStart()
	f.Publish(1, 2, 3, 4, 5)
	f.Idle()
	f.Stop()
	server.Close()
	if connections != 1 {
		t.Errorf("5 events took %d connections", connections)
	}
}

// A receiver that has taken an event, and then does not end its answer.
func TestNobodyWaitsForTheEndOfAnAnswer(t *testing.T) {
	for _, status := range []int{202, 500} {
		synctest.Test(t, func(t *testing.T) {
			b := &body{closed: make(chan struct{})}
			requests := 0
			hook := transport(func(r *http.Request) (*http.Response, error) {
				if requests++; requests > 1 {
					return httptest.NewRecorder().Result(), nil
				}
				go func() {
					<-r.Context().Done()
					close(b.closed)
				}()
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: b, Request: r}, nil
			})
			f := conformance.SQLite.OpenOutside(t)
			defer f.Stop()
			_, err := cloudevents.Forward(f.Bus, "*", "partner", cloudevents.Webhook{URL: "https://partner.example", Client: &http.Client{Transport: hook}},
				runtime.WithRetry(retry.BaseDelay(time.Second), retry.Jitter(0)))
			conformance.Must(t, err)
			f.MustStart()
			began := time.Now()
			f.Publish(1)
			f.Idle()
			if took := time.Since(began); took > 3*time.Second || requests != map[int]int{202: 1, 500: 2}[status] {
				t.Errorf("%d: %d requests took %v", status, requests, took)
			}
		})
	}
}

type transport func(r *http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
