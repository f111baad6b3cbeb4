package cloudevents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

const (
	oldSecret = "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk"
	newSecret = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3"
)

// through calls a handler instead of a server.
type through struct{ http.Handler }

func (h through) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer.Result(), nil
}

func TestASignedEventIsTakenAndAnotherOneIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := receive(t, cloudevents.Signed(oldSecret))
		var taken []*http.Request
		var bodies [][]byte
		seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			taken, bodies = append(taken, r), append(bodies, body)
			to.ServeHTTP(w, r)
		})
		from := conformance.SQLite.OpenOutside(t)
		defer from.Stop()
		_, err := cloudevents.Forward(from.Bus, "*", "partner", cloudevents.Webhook{
			URL: "https://partner.example", Secrets: []string{newSecret, oldSecret}, Client: &http.Client{Transport: through{seen}},
		})
		conformance.Must(t, err)
		from.MustStart()
		from.Publish(1)
		from.Idle()
		if n := len(to.stored(t)); n != 1 {
			t.Fatalf("%d events came in, refused were %v", n, to.refusals)
		}
		again := func(body string, change func(header http.Header)) int {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header = taken[0].Header.Clone()
			change(r.Header)
			answer := httptest.NewRecorder()
			to.ServeHTTP(answer, r)
			return answer.Code
		}
		body := string(bodies[0])
		for what, test := range map[string]struct {
			body   string
			change func(header http.Header)
			want   int
		}{
			"the same":                {body, func(http.Header) {}, 202},
			"another body":            {body + " ", func(http.Header) {}, 401},
			"another id":              {body, func(h http.Header) { h.Set("Webhook-Id", "x") }, 401},
			"another time":            {body, func(h http.Header) { h.Set("Webhook-Timestamp", "1") }, 401},
			"no time":                 {body, func(h http.Header) { h.Set("Webhook-Timestamp", "now") }, 401},
			"no signature":            {body, func(h http.Header) { h.Del("Webhook-Signature") }, 401},
			"two signatures":          {body, func(h http.Header) { h.Add("Webhook-Signature", "v1,") }, 401},
			"the other signature":     {body, func(h http.Header) { h.Set("Webhook-Signature", strings.Fields(h.Get("Webhook-Signature"))[0]) }, 401},
			"binary, with attributes": {body, func(h http.Header) { h.Set("Content-Type", "application/json") }, 401},
		} {
			if status := again(test.body, test.change); status != test.want {
				t.Errorf("%s: %d, want %d", what, status, test.want)
			}
		}
		time.Sleep(6 * time.Minute)
		if status := again(body, func(http.Header) {}); status != 401 {
			t.Errorf("six minutes later: %d", status)
		}
	})
}

func TestAWebhookThatCannotBeIsRefused(t *testing.T) {
	bus := receive(t).Bus
	for what, test := range map[string]struct {
		to   cloudevents.Webhook
		says string
	}{
		"no URL":                {cloudevents.Webhook{}, "absolute"},
		"another scheme":        {cloudevents.Webhook{URL: "file:///etc/passwd"}, "absolute"},
		"no URL at all":         {cloudevents.Webhook{URL: "http://u:secret@x:port"}, "cannot be read"},
		"a short secret":        {cloudevents.Webhook{URL: "http://x", Secrets: []string{"whsec_c2VjcmV0"}}, "secret 1"},
		"binary and signed":     {cloudevents.Webhook{URL: "http://x", Secrets: []string{oldSecret}, Binary: true}, "leave out Binary"},
		"public with a client":  {cloudevents.Webhook{URL: "http://x", PublicOnly: true, Client: &http.Client{}}, "leave out Client"},
		"a negative timeout":    {cloudevents.Webhook{URL: "http://x", Timeout: -1}, "negative"},
		"a name of no header":   {cloudevents.Webhook{URL: "http://x", Header: http.Header{"X Y": {"v"}}}, "X Y"},
		"no name of a header":   {cloudevents.Webhook{URL: "http://x", Header: http.Header{"": {"v"}}}, "no header can have"},
		"a header of two lines": {cloudevents.Webhook{URL: "http://x", Header: http.Header{"X-A": {"c2VjcmV0\r\nX-B: 1"}}}, "X-A has a value with control"},
		"a header with a NUL":   {cloudevents.Webhook{URL: "http://x", Header: http.Header{"X-A": {"a\x00"}}}, "X-A has a value with control"},
		"its own media type":    {cloudevents.Webhook{URL: "http://x", Header: http.Header{"content-type": {"text/plain"}}}, "Content-Type, which the request says"},
		"an attribute":          {cloudevents.Webhook{URL: "http://x", Header: http.Header{"CE-Id": {"1"}}}, "Ce-Id, which the request says"},
		"a host":                {cloudevents.Webhook{URL: "http://x", Header: http.Header{"Host": {"y"}}}, "Host, which the request says"},
		"a header twice":        {cloudevents.Webhook{URL: "http://x", Header: http.Header{"X-A": {"1"}, "x-a": {"2"}}}, "X-A twice"},
		"no origin":             {cloudevents.Webhook{URL: "http://x", Origin: "https://shop.example"}, "Origin is not the name of a host"},
		"a rate of nobody":      {cloudevents.Webhook{URL: "http://x", Rate: 7}, "belongs to an Origin"},
		"a negative rate":       {cloudevents.Webhook{URL: "http://x", Origin: "shop.example", Rate: -7}, "positive"},
		"a token is not showed": {cloudevents.Webhook{URL: "http://u:secret@x/?token=c2VjcmV0", Timeout: -1}, "http://u:xxxxx@x/:"},
	} {
		_, err := cloudevents.Forward(bus, "*", "partner", test.to)
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret@") || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := cloudevents.Forward(nil, "*", "partner", cloudevents.Webhook{URL: "http://x"}); err == nil {
		t.Error("there is no bus")
	}
	if _, err := cloudevents.ForwardBatches(bus, conformance.PaidType, "partner", cloudevents.Webhook{URL: "http://x", Binary: true}); err == nil {
		t.Error("a batch in binary mode")
	}
	nameless := conformance.SQLite.Open(t)
	defer nameless.Stop()
	if _, err := cloudevents.Forward(nameless.Bus, "*", "partner", cloudevents.Webhook{URL: "http://x"}); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Errorf("no source: %v", err)
	}
}

func TestRedirectsAndAddressesInsideAreNotFollowed(t *testing.T) {
	var followed bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			followed = true
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	for name, to := range map[string]cloudevents.Webhook{"leads elsewhere": {URL: server.URL}, "is not a public address": {URL: server.URL, PublicOnly: true}} {
		f := conformance.SQLite.OpenOutside(t)
		_, err := cloudevents.Forward(f.Bus, "*", "partner", to, runtime.WithRetry(retry.MaxAttempts(1)))
		conformance.Must(t, err)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		f.Stop()
		says := strings.Replace(name, "leads elsewhere", "it leads to /elsewhere", 1)
		if text := conformance.SQLite.Letter(t, f.Path).LastAttempt().Error; !strings.Contains(text, says) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if followed {
		t.Error("a redirect was followed")
	}
}

func TestAnExportHasEachEventAsALine(t *testing.T) {
	r := receive(t)
	first := one(`,"time":"2026-03-14T12:30:00Z","data":` + paid)
	r.post(first, structured)
	r.Fixture.Publish(1, 2)
	file, err := conformance.SQLite.OpenFile(t.Context(), r.Path)
	conformance.Must(t, err)
	defer file.Close()
	names := conformance.OutsideCatalogue().CloudEvents()
	var out bytes.Buffer
	n, err := cloudevents.Export(t.Context(), &out, file, event.Filter{}, names)
	conformance.Must(t, err)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if n != 3 || len(lines) != 3 {
		t.Fatalf("%d events: %q", n, lines)
	}
	for i, line := range lines {
		var e cloudevents.Event
		conformance.Must(t, json.Unmarshal([]byte(line), &e))
		if (i == 0) != (e.ID == "1" && e.Source == "/crm") || e.Time == "" || !strings.HasPrefix(e.Type, "com.example.order.") {
			t.Errorf("line %d: %s", i, line)
		}
		if answer := r.post(line, structured); answer.Code != http.StatusAccepted { // into the same log: the first is a duplicate
			t.Errorf("line %d: %d %s", i, answer.Code, answer.Body)
		}
	}
	if n := len(r.stored(t)); n != 5 {
		t.Errorf("%d events are stored", n)
	}
	if _, err := cloudevents.Export(context.Background(), &out, file, event.Filter{}, runtime.CloudEvents{}); err == nil {
		t.Error("exported without a source")
	}
}
