package cloudevents_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

const paid = `{"order_id":"A"}`

// receiver is a handler, and what it refused.
type receiver struct {
	http.Handler
	*conformance.Fixture
	refusals []*cloudevents.Refusal
}

func receive(t *testing.T, opts ...cloudevents.ReceiveOption) *receiver {
	t.Helper()
	r := &receiver{Fixture: conformance.SQLite.OpenOutside(t, runtime.WithPayloadLimit(100_000))}
	t.Cleanup(func() { r.Fixture.Bus.Shutdown(context.Background()) })
	r.Handler = cloudevents.Receive(r.Bus, append(opts, cloudevents.OnRefusal(func(_ *http.Request, refusal *cloudevents.Refusal) {
		r.refusals = append(r.refusals, refusal)
	}))...)
	return r
}

// post returns the status.
func (r *receiver) post(body string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, request)
	return answer
}

// stored returns the events, the oldest first.
func (r *receiver) stored(t *testing.T) []event.Event {
	t.Helper()
	file, err := conformance.SQLite.OpenFile(t.Context(), r.Path)
	conformance.Must(t, err)
	defer file.Close()
	all, _, err := file.Events(t.Context(), event.Filter{}, event.Page{Limit: 1000})
	conformance.Must(t, err)
	slices.Reverse(all)
	return all
}

const (
	structured = "Content-Type: application/cloudevents+json; charset=UTF-8"
	batched    = "Content-Type: application/cloudevents-batch+json"
)

// binary returns the headers of an event.
func binary(more ...string) []string {
	return append([]string{"ce-specversion: 1.0", "ce-id: 1", "ce-source: /crm", "ce-type: com.example.order.paid"}, more...)
}

func one(members string) string {
	return `{"specversion":"1.0","id":"1","source":"/crm","type":"com.example.order.paid"` + members + `}`
}

func TestWhatIsNoCloudEventOfTheCatalogueIsRefused(t *testing.T) {
	short.Visit(t, "it tries many documents")
	json := "Content-Type: application/json"
	long := strings.Repeat("x", 5000)
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, `,"x%d":"v"`, i)
	}
	for what, test := range map[string]struct {
		body    string
		headers []string
		status  int
		kind    cloudevents.Kind
		says    string
	}{
		"nothing":                  {"", nil, 400, "attribute", "specversion"},
		"a form":                   {"a=b", []string{"Content-Type: application/x-www-form-urlencoded"}, 400, "attribute", "specversion"},
		"no id":                    {`{"specversion":"1.0","id":null,"source":"/crm","type":"com.example.order.paid"}`, []string{structured}, 400, "attribute", "id"},
		"an old version":           {paid, append(binary(json), "ce-specversion: 0.3")[1:], 400, "attribute", "0.3"},
		"an attribute twice":       {paid, append(binary(json), "ce-id: 2"), 400, "attribute", "2 headers"},
		"a member twice":           {one(`,"id":"2"`), []string{structured}, 400, "attribute", "twice"},
		"a field twice":            {one(`,"data":{"order_id":"A","order_id":"B"}`), []string{structured}, 400, "attribute", "data.order_id"},
		"another kind of name":     {one(`,"order_id":"A"`), []string{structured}, 400, "attribute", "lower-case"},
		"an object as attribute":   {one(`,"ext":{}`), []string{structured}, 400, "attribute", "ext"},
		"a fraction as attribute":  {one(`,"ext":1.5`), []string{structured}, 400, "attribute", "32 bits"},
		"a number as id":           {`{"specversion":"1.0","id":1,"source":"/crm","type":"com.example.order.paid"}`, []string{structured}, 400, "attribute", "not a text"},
		"an empty id":              {`{"specversion":"1.0","id":"","source":"/crm","type":"com.example.order.paid"}`, []string{structured}, 400, "attribute", "empty"},
		"a long id":                {paid, append(binary(json)[2:], "ce-specversion: 1.0", "ce-id: "+long), 400, "attribute", "5000 bytes"},
		"a long name":              {one(`,"` + long + `":"v"`), []string{structured}, 400, "attribute", "1 to 64"},
		"many extensions":          {one(many.String()), []string{structured}, 400, "attribute", "60 extensions"},
		"a source with spaces":     {`{"specversion":"1.0","id":"1","source":"a b","type":"com.example.order.paid"}`, []string{structured}, 400, "attribute", "URI"},
		"a relative dataschema":    {one(`,"dataschema":"/x"`), []string{structured}, 400, "attribute", "absolute"},
		"a time without a zone":    {one(`,"time":"2026-03-14T12:30:00"`), []string{structured}, 400, "attribute", "3339"},
		"control characters":       {one(`,"subject":"a\u0000b"`), []string{structured}, 400, "attribute", "subject"},
		"half a character":         {one(`,"subject":"\ud800"`), []string{structured}, 400, "attribute", "subject"},
		"bytes that are no text":   {paid, binary(json, "ce-subject: %C0%A0"), 400, "attribute", "UTF-8"},
		"datacontenttype twice":    {paid, binary(json, "ce-datacontenttype: application/json"), 400, "attribute", "Content-Type"},
		"two media types":          {paid, binary(json, json), 400, "attribute", "2 headers"},
		"two modes":                {"{}", []string{structured, json}, 400, "attribute", "2 headers Content-Type"},
		"a source with an umlaut":  {strings.ReplaceAll(one(""), "/crm", "/crm/ä"), []string{structured}, 400, "attribute", "ASCII"},
		"half a percent code":      {strings.ReplaceAll(one(""), "/crm", "/crm?%2"), []string{structured}, 400, "attribute", "URI"},
		"no correlation":           {one(`,"correlationid":""`), []string{structured}, 400, "attribute", "correlationid"},
		"no causation":             {one(`,"causationid":""`), []string{structured}, 400, "attribute", "causationid"},
		"no partition key":         {one(`,"partitionkey":""`), []string{structured}, 400, "attribute", "partitionkey"},
		"no sequence":              {one(`,"sequence":""`), []string{structured}, 400, "attribute", "sequence"},
		"a number as sequence":     {one(`,"sequence":7`), []string{structured}, 400, "attribute", "not a text"},
		"a trace of zeros":         {one(`,"traceparent":"00-00000000000000000000000000000000-00f067aa0ba902b7-01"`), []string{structured}, 400, "attribute", "W3C"},
		"half a trace":             {paid, binary(json, "ce-traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"), 400, "attribute", "traceparent"},
		"a trace in capitals":      {one(`,"traceparent":"00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01"`), []string{structured}, 400, "attribute", "W3C"},
		"a trace with more":        {one(`,"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"`), []string{structured}, 400, "attribute", "W3C"},
		"a comma in the time":      {one(`,"time":"2026-03-14T12:30:00,5Z"`), []string{structured}, 400, "attribute", "3339"},
		"an hour of one digit":     {one(`,"time":"2026-03-14T2:30:00Z"`), []string{structured}, 400, "attribute", "3339"},
		"a zone of a day":          {one(`,"time":"2026-03-14T12:30:00+24:00"`), []string{structured}, 400, "attribute", "3339"},
		"a leap second at noon":    {one(`,"time":"2016-12-31T12:00:60Z"`), []string{structured}, 400, "attribute", "3339"},
		"a day that is not":        {one(`,"time":"2026-02-30T12:30:00Z"`), []string{structured}, 400, "attribute", "3339"},
		"two encodings":            {"{}", []string{structured, "Content-Encoding: identity", "Content-Encoding: gzip"}, 415, "encoding", "gzip"},
		"no JSON":                  {"{", []string{structured}, 400, "data", "JSON"},
		"a list as event":          {"[]", []string{structured}, 400, "data", "object"},
		"null as event":            {"null", []string{structured}, 400, "data", "null"},
		"an object as batch":       {"{}", []string{batched}, 400, "data", "list"},
		"null as batch":            {"null", []string{batched}, 400, "data", "null"},
		"null in a batch":          {"[null]", []string{batched}, 400, "data", "null"},
		"data twice":               {one(`,"data":{},"data_base64":"e30="`), []string{structured}, 400, "data", "data_base64"},
		"wrong base64":             {one(`,"datacontenttype":"application/json","data_base64":"?"`), []string{structured}, 400, "data", "base64"},
		"base64 of nobody knows":   {one(`,"data_base64":"e30="`), []string{structured}, 400, "data", "datacontenttype"},
		"binary data that is text": {"hello", binary(json), 400, "data", "JSON"},
		"data in XML":              {one(`,"datacontenttype":"application/xml","data":"<a/>"`), []string{structured}, 415, "media-type", "application/xml"},
		"binary data in XML":       {"<a/>", binary("Content-Type: text/xml"), 415, "media-type", "text/xml"},
		"data in Latin-1":          {paid, binary("Content-Type: application/json; charset=latin1"), 415, "media-type", "latin1"},
		"events in Avro":           {"", []string{"Content-Type: application/cloudevents+avro"}, 415, "media-type", "avro"},
		"events in UTF-16":         {"{}", []string{"Content-Type: application/cloudevents+json; charset=utf-16"}, 415, "media-type", "utf-16"},
		"a compressed body":        {"\x1f\x8b", []string{structured, "Content-Encoding: gzip"}, 415, "encoding", "gzip"},
		"an unknown type":          {strings.ReplaceAll(one(""), "paid", "lost"), []string{structured}, 422, "unknown-type", "order.lost"},
		"a type without prefix":    {strings.ReplaceAll(one(""), "com.example.", ""), []string{structured}, 422, "unknown-type", "begin with com.example."},
		"no data":                  {one(""), []string{structured}, 422, "payload", "order_id: is missing"},
		"null as data":             {one(`,"data":null`), []string{structured}, 422, "payload", "null"},
		"an unknown field":         {one(`,"data":{"order_id":"A","odd":1}`), []string{structured}, 422, "payload", "odd"},
		"a large payload":          {one(`,"data":{"order_id":"` + strings.Repeat("x", 100_001) + `"}`), []string{structured}, 413, "too-large", "100000"},
		"a large body":             {strings.Repeat(" ", 200_001), []string{structured}, 413, "too-large", "200000"},
		"a large batch":            {"[1,2,3,4,5,6]", []string{batched}, 413, "too-large", "6 events"},
	} {
		r := receive(t, cloudevents.MaxBody(200_000), cloudevents.MaxBatch(5))
		answer := r.post(test.body, test.headers...)
		var problem struct {
			Type   string
			Status int
			Detail string
		}
		if err := jsonOf(answer, &problem); err != nil || answer.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v %v", what, err, answer.Header())
		}
		if answer.Code != test.status || problem.Status != test.status || !strings.HasSuffix(problem.Type, "cloudevents.md#"+string(test.kind)) || !strings.Contains(problem.Detail, test.says) {
			t.Errorf("%s: status %d, %+v, want %d %s %q", what, answer.Code, problem, test.status, test.kind, test.says)
		}
		if len(r.refusals) != 1 || r.refusals[0].Kind != test.kind || len(r.stored(t)) != 0 {
			t.Errorf("%s: refused as %v with %d events", what, r.refusals, len(r.stored(t)))
		}
	}
}

func jsonOf(answer *httptest.ResponseRecorder, into any) error {
	return json.Unmarshal(answer.Body.Bytes(), into)
}

func TestAllFormsOfACloudEventThatAreAllowedAreTaken(t *testing.T) {
	short.Visit(t, "it tries many documents")
	for what, test := range map[string]struct {
		body    string
		headers []string
	}{
		"binary":                     {paid, binary("Content-Type: application/json")},
		"binary in UTF-8":            {paid, binary(`Content-Type: application/json; charset="UTF-8"`)},
		"binary without a type":      {paid, binary()},
		"binary in JSON of a vendor": {paid, binary("Content-Type: application/vnd.x+json")},
		"binary in quotes":           {paid, append(binary()[1:], `ce-specversion: "1.0"`)},
		"structured":                 {one(`,"data":` + paid), []string{structured}},
		"capitals in the media type": {one(`,"data":` + paid), []string{"Content-Type: Application/CloudEvents+JSON"}},
		"null for what is not set":   {one(`,"subject":null,"ext":null,"data_base64":null,"data":` + paid), []string{structured}},
		"base64":                     {one(`,"datacontenttype":"application/json","data_base64":"` + base64.StdEncoding.EncodeToString([]byte(paid)) + `"`), []string{structured}},
		"small letters in the time":  {one(`,"time":"2026-03-14t12:30:00.5z","data":` + paid), []string{structured}},
		"a leap second":              {one(`,"time":"2016-12-31T23:59:60Z","data":` + paid), []string{structured}},
		"a leap second elsewhere":    {one(`,"time":"2017-01-01T05:29:60.25+05:30","data":` + paid), []string{structured}},
		"a trace":                    {one(`,"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","data":` + paid), []string{structured}},
		"a trace of the future":      {one(`,"traceparent":"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more","data":` + paid), []string{structured}},
		"batch":                      {"[" + one(`,"data":`+paid) + "]", []string{batched}},
		"an encoding that is none":   {one(`,"data":` + paid), []string{structured, "Content-Encoding: identity"}},
	} {
		r := receive(t)
		if answer := r.post(test.body, test.headers...); answer.Code != http.StatusAccepted {
			t.Errorf("%s: %d %s", what, answer.Code, answer.Body)
		} else if all := r.stored(t); len(all) != 1 || string(all[0].Payload) != paid {
			t.Errorf("%s: stored are %+v", what, all)
		}
	}
	r := receive(t)
	if answer := r.post("[]", batched); answer.Code != http.StatusAccepted || len(r.stored(t)) != 0 {
		t.Errorf("an empty batch: %d", answer.Code)
	}
}

func TestValuesOfHeadersAreDecodedAsTheBindingSays(t *testing.T) {
	for given, want := range map[string]string{
		"Euro%20%E2%82%AC%20%F0%9F%98%80": "Euro € 😀",
		`"a \"b\" \\ %41"`:                `a "b" \ A`,
		"%e2%82%ac":                       "€",
		"100%":                            "100%",
		"100% of %4":                      "100% of %4",
		"a%2520b":                         "a%20b",
	} {
		r := receive(t)
		r.post(paid, binary("ce-subject: "+given)...)
		var metadata map[string]string
		json.Unmarshal(r.stored(t)[0].Metadata, &metadata)
		if metadata["ce-subject"] != want {
			t.Errorf("%s is read as %q, want %q", given, metadata["ce-subject"], want)
		}
	}
}

// A URI has codes of its own. The binding demands a code for their percent signs, and many senders do not
// write it.
func TestASourceIsTheSameInAllModes(t *testing.T) {
	short.Visit(t, "it tries many documents")
	for header, want := range map[string]string{
		"https://bank.example/a%2520b":     "https://bank.example/a%20b",  // as the binding says
		"https://bank.example/a%20b":       "https://bank.example/a%20b",  // as the SDK for Go writes it
		"/a%2Fb":                           "/a%2Fb",                      // the same
		"/a%2fb%25":                        "/a%2fb%25",                   // the same
		"/100%25":                          "/100%25",                     // "/100%" is no URI
		"/a%252Fb%2525":                    "/a%2Fb%25",                   // as the binding says
		"https%3A%2F%2Fbank.example%2fx":   "https://bank.example/x",      // with more codes than it needs
		`"https://bank.example/a%2520b"`:   "https://bank.example/a%20b",  // in quotes
		"https://bank.example/%C3%A9":      "https://bank.example/%C3%A9", // it would be no URI without the codes
		"urn:uuid:6e8bc430-9c3a-11d9-9669": "urn:uuid:6e8bc430-9c3a-11d9-9669",
	} {
		r := receive(t)
		answer := r.post(paid, "ce-specversion: 1.0", "ce-id: 1", "ce-source: "+header, "ce-type: com.example.order.paid")
		again := r.post(fmt.Sprintf(`{"specversion":"1.0","id":"1","source":%q,"type":"com.example.order.paid","data":%s}`, want, paid), structured)
		if all := r.stored(t); answer.Code != http.StatusAccepted || again.Code != http.StatusAccepted || len(all) != 1 {
			t.Errorf("the source %s in a header is not %s: %d %s, %d %s, %+v", header, want, answer.Code, answer.Body, again.Code, again.Body, all)
		}
	}
}

func TestNoSourceAndIDCanBeMadeToLookLikeOthers(t *testing.T) {
	r := receive(t)
	all := [][2]string{{"/a", "b"}, {"/", "ab"}, {"/ab", "c"}, {"/a", "bc"}, {"/a#b", "c"}, {"/a", "#bc"}, {"/a%00b", "c"}, {"/a", "%00bc"}}
	for i, e := range all {
		answer := r.post(fmt.Sprintf(`{"specversion":"1.0","source":%q,"id":%q,"type":"com.example.order.paid","data":{"order_id":"%d"}}`, e[0], e[1], i), structured)
		if answer.Code != http.StatusAccepted {
			t.Errorf("%q: %d %s", e, answer.Code, answer.Body)
		}
	}
	if n := len(r.stored(t)); n != len(all) {
		t.Errorf("%d of %d events are stored", n, len(all))
	}
}

// What is wrong may have been made to be expensive to tell.
func TestAProblemIsShortWhateverIsWrong(t *testing.T) {
	r := receive(t)
	var fields strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&fields, `,"%d":1`, i)
	}
	for what, body := range map[string]string{
		"many unknown fields": one(`,"data":{"order_id":"A"` + fields.String() + `}`),
		"a long type":         strings.ReplaceAll(one(""), "paid", strings.Repeat("é", 1900)),
		"a long member":       one(`,"` + strings.Repeat("é", 50_000) + `":"v"`),
		"a deep one":          one(`,"data":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000)),
	} {
		if answer := r.post(body, structured); answer.Code < 400 || answer.Body.Len() > 5000 || !json.Valid(answer.Body.Bytes()) {
			t.Errorf("%s: %d with %d bytes: %.200s", what, answer.Code, answer.Body.Len(), answer.Body)
		}
	}
}

func TestOnlyPostIsTaken(t *testing.T) {
	r := receive(t)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions} {
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, httptest.NewRequest(method, "/", nil))
		if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "POST" {
			t.Errorf("%s: %d %v", method, answer.Code, answer.Header())
		}
	}
}

func TestRequestsBeyondTheLimitAreToldToComeAgain(t *testing.T) {
	inside, end := make(chan bool), make(chan bool)
	r := receive(t, cloudevents.MaxRequests(1), cloudevents.Authorize(func(*http.Request, cloudevents.Event) error {
		inside <- true
		<-end
		return nil
	}))
	first := make(chan int)
	go func() { first <- r.post(paid, binary()...).Code }()
	<-inside
	answer := r.post(paid, binary()...)
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
		t.Errorf("the second: %d %v", answer.Code, answer.Header())
	}
	close(end)
	if status := <-first; status != http.StatusAccepted {
		t.Errorf("the first: %d", status)
	}
}

// A sender that opens a request and sends nothing more.
func TestABodyThatDoesNotComeIsGivenUp(t *testing.T) {
	r := receive(t, cloudevents.Within(50*time.Millisecond))
	server := httptest.NewServer(r)
	defer server.Close()
	for header, want := range map[string]string{"Content-Type: application/cloudevents+json": "#slow", "Content-Encoding: gzip": "#encoding"} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		conformance.Must(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: 100\r\n\r\n{", header)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		conformance.Must(t, err)
		defer answer.Body.Close()
		if body, _ := io.ReadAll(answer.Body); !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s", header, answer.StatusCode, body)
		}
	}
}

func TestAnOptionThatIsNotValidPanics(t *testing.T) {
	bus := receive(t).Bus
	for what, make := range map[string]func(){
		"no bus":       func() { cloudevents.Receive(nil) },
		"MaxBody":      func() { cloudevents.Receive(bus, cloudevents.MaxBody(0)) },
		"no secret":    func() { cloudevents.Receive(bus, cloudevents.Signed()) },
		"short secret": func() { cloudevents.Receive(bus, cloudevents.Signed("whsec_c2VjcmV0")) },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "cloudevents.Receive: ") || strings.Contains(text, "c2VjcmV0") {
					t.Errorf("%s: %s", what, text)
				}
			}()
			make()
		}()
	}
}

func TestEachRefusalHasACauseOfItsOwn(t *testing.T) {
	r := receive(t)
	r.post(one(""), structured)
	r.post(one(`,"time":"x"`), structured)
	r.post("[]", structured)
	r.post(strings.ReplaceAll(one(""), "paid", "lost"), structured)
	for i, as := range []any{new(*runtime.ValidationError), new(*cloudevents.AttributeError), new(*cloudevents.DataError), new(*cloudevents.UnknownTypeError)} {
		if !errors.As(r.refusals[i], as) {
			t.Errorf("refusal %d is %v", i, r.refusals[i])
		}
	}
}
