package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// OutsideCatalogue is that of the tests, with names outside.
func OutsideCatalogue() *runtime.Catalogue {
	return runtime.NewCatalogue(PlacedType, PaidType, UserType).WithCloudEvents(runtime.CloudEvents{
		Source: "https://shop.example", TypePrefix: "com.example.", DataSchema: "https://shop.example/{type}/{version}",
		Types: map[string]string{"user.created": "org.example.Users/Created"},
	})
}

// OpenOutside opens a bus with that catalogue.
func (env *Env) OpenOutside(t *testing.T, opts ...runtime.Option) *Fixture {
	t.Helper()
	return env.ReopenWith(t, env.Target(t), OutsideCatalogue(), opts...)
}

// sent is the JSON of a CloudEvent.
func sent(id, eventType, data string, more ...string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/crm","type":%q,"data":%s%s}`, id, eventType, data, strings.Join(more, ""))
}

// receives posts a body, and returns the status and the problem.
func receives(handler http.Handler, mode, body string) (int, map[string]any) {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/cloudevents"+mode+"+json")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	var problem map[string]any
	json.Unmarshal(answer.Body.Bytes(), &problem)
	return answer.Code, problem
}

func (env *Env) TestACloudEventThatIsRepeatedIsStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t, runtime.WithDedupeWindow(time.Hour))
		seen := f.allTypes()
		f.MustStart()
		handler := cloudevents.Receive(f.Bus)
		batch := "[" + sent("1", "com.example.order.paid", `{"order_id":"A"}`) + "," + sent("2", "org.example.Users/Created", `{"name":"Ada"}`) + "," +
			sent("1", "com.example.order.paid", `{"order_id": "A"}`) + "]"
		for range 2 {
			if status, problem := receives(handler, "-batch", batch); status != http.StatusAccepted {
				t.Errorf("%d %v", status, problem)
			}
		}
		f.wantSeen(seen, `order.paid {"order_id":"A"} `, `user.created {"name":"Ada"} `)
		time.Sleep(2 * time.Hour) // the window is over
		if status, _ := receives(handler, "", sent("1", "com.example.order.paid", `{"order_id":"B"}`)); status != http.StatusAccepted {
			t.Errorf("after the window: %d", status)
		}
		f.wantSeen(seen, `order.paid {"order_id":"A"} `, `user.created {"name":"Ada"} `, `order.paid {"order_id":"B"} `)
	})
}

// Source and id are one event, whatever its type: CloudEvents 1.0.2, attribute source.
func (env *Env) TestACloudEventIsKnownBySourceAndIDAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t)
		seen := f.allTypes()
		f.MustStart()
		handler := cloudevents.Receive(f.Bus)
		paid, created := sent("1", "com.example.order.paid", `{"order_id":"A"}`), sent("1", "org.example.Users/Created", `{"name":"Ada"}`)
		for what, test := range map[string]struct {
			body  string
			index any
		}{
			"later":           {"[" + created + "]", 0.0},
			"with others":     {"[" + sent("2", "com.example.order.paid", `{"order_id":"A"}`) + "," + created + "]", 1.0},
			"in one batch":    {"[" + strings.ReplaceAll(paid, `"1"`, `"3"`) + "," + strings.ReplaceAll(created, `"1"`, `"3"`) + "]", 1.0},
			"of another data": {"[" + sent("4", "com.example.order.paid", `{"order_id":"A"}`) + "," + sent("4", "com.example.order.paid", `{"order_id":"B"}`) + "]", 1.0},
		} {
			if status, problem := receives(handler, "", paid); status != http.StatusAccepted {
				t.Fatal(status, problem)
			}
			if status, problem := receives(handler, "-batch", test.body); status != http.StatusConflict || problem["index"] != test.index {
				t.Errorf("%s: %d %v", what, status, problem)
			}
		}
		// Keys of a program are another matter.
		_, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Eve"}, runtime.WithDedupeKey("cloudevents:1"))
		Must(t, err)
		f.wantSeen(seen, `order.paid {"order_id":"A"} `, `user.created {"name":"Eve"} `)
	})
}

// noteOf returns a catalogue of one type, of a version and a name.
func noteOf(version int, name string, aliases ...string) *runtime.Catalogue {
	spec := runtime.Spec[note]{Name: name, Aliases: aliases, Settings: declare.DefaultSettings(), Version: version}
	for v := 1; v < version; v++ {
		spec.Upcasts = append(spec.Upcasts, runtime.UpcastFrom[note, note](v, func(old note) (note, error) { return note{old.N + 100}, nil }))
	}
	return runtime.NewCatalogue(runtime.Define(spec)).WithCloudEvents(runtime.CloudEvents{
		Source: "https://shop.example", TypePrefix: "com.example.", DataSchema: "https://shop.example/{version}",
	})
}

// A sender repeats a request whose answer was lost, and the program has got a new version meanwhile.
func (env *Env) TestACloudEventIsTheSameAfterItsTypeHasANewVersionOrName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := env.Target(t)
		body := sent("1", "com.example.note.taken", `{"n": 3}`, `,"dataschema":"https://shop.example/1"`)
		first := ""
		for what, catalogue := range []*runtime.Catalogue{noteOf(1, "note.taken"), noteOf(2, "note.taken"), noteOf(3, "memo.written", "note.taken")} {
			f := env.ReopenWith(t, target, catalogue)
			seen := f.allTypes()
			f.MustStart()
			handler := cloudevents.Receive(f.Bus)
			if status, problem := receives(handler, "", body); status != http.StatusAccepted {
				t.Errorf("%d: %d %v", what, status, problem)
			}
			if status, _ := receives(handler, "", strings.ReplaceAll(body, "3", "4")); status != http.StatusConflict {
				t.Errorf("%d: of another payload: %d", what, status)
			}
			f.Idle()
			if first += strings.Join(seen.All(), ","); first != `note.taken {"n":3} ` {
				t.Errorf("%d: handled were %q", what, first)
			}
			f.Stop()
		}
	})
}

func (env *Env) TestOneCloudEventThatIsRefusedKeepsOutItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t)
		seen := f.allTypes()
		f.MustStart()
		handler := cloudevents.Receive(f.Bus)
		good := sent("1", "com.example.order.paid", `{"order_id":"A"}`)
		receives(handler, "", good)
		for what, bad := range map[string]struct {
			event  string
			status int
		}{
			"unknown type": {sent("2", "com.example.order.lost", `{}`), 422},
			"payload":      {sent("2", "com.example.order.paid", `{"order_id":7}`), 422},
			"conflict":     {sent("1", "com.example.order.paid", `{"order_id":"B"}`), 409},
			"attribute":    {sent("2", "com.example.order.paid", `{"order_id":"A"}`, `,"Odd":"x"`), 400},
		} {
			status, problem := receives(handler, "-batch", "["+sent("9", "com.example.order.paid", `{"order_id":"C"}`)+","+bad.event+"]")
			if status != bad.status || problem["index"] != 1.0 || problem["status"] != float64(status) {
				t.Errorf("%s: %d %v", what, status, problem)
			}
		}
		f.wantSeen(seen, `order.paid {"order_id":"A"} `)
		f.Stop()
		if status, _ := receives(handler, "", good); status != http.StatusServiceUnavailable {
			t.Errorf("after a shutdown: %d", status)
		}
	})
}

func (env *Env) TestABatchOfAThousandCloudEventsIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t)
		f.MustStart()
		var events []string
		for i := range 1000 {
			events = append(events, sent(fmt.Sprint(i), "com.example.order.paid", fmt.Sprintf(`{"order_id":"%d"}`, i)))
		}
		handler := cloudevents.Receive(f.Bus)
		for range 2 {
			if status, problem := receives(handler, "-batch", "["+strings.Join(events, ",")+"]"); status != http.StatusAccepted {
				t.Errorf("%d %v", status, problem)
			}
		}
		if n := f.peek().stored(); n != 1000 {
			t.Errorf("%d events are stored", n)
		}
	})
}

// webhook answers with one status after the other, and then 204.
type webhook struct {
	Journal[string]
	at       Journal[time.Duration]
	began    time.Time
	statuses []int
	after    string // Retry-After
}

func (h *webhook) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	h.at.Add(time.Since(h.began))
	status := http.StatusNoContent
	if n := len(h.All()); n < len(h.statuses) {
		status = h.statuses[n]
	}
	h.Add(string(body))
	answer := httptest.NewRecorder()
	if h.after != "" {
		answer.Header().Set("Retry-After", h.after)
	}
	answer.WriteHeader(status)
	io.WriteString(answer, `{"detail":"not now"}`)
	return answer.Result(), nil
}

func (h *webhook) to() cloudevents.Webhook {
	h.began = time.Now()
	return cloudevents.Webhook{URL: "https://partner.example/hook?token=x", Client: &http.Client{Transport: h}}
}

func (env *Env) TestAWebhookThatIsBusySaysWhenTheEventIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t)
		hook := &webhook{statuses: []int{429, 503}, after: "600"}
		_, err := cloudevents.Forward(f.Bus, "order.*", "partner", hook.to())
		Must(t, err)
		f.MustStart()
		r, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{OrderID: "A"}, runtime.WithCorrelationID("c"),
			runtime.WithMetadata(map[string]string{"ce-tenant": "north", "secret": "s", "ce-Odd": "x", "ce-id": "of another event"}))
		Must(t, err)
		f.Idle()
		if took := hook.at.All(); len(took) != 3 || took[1].Round(time.Second) != 10*time.Minute || took[2].Round(time.Second) != 20*time.Minute {
			t.Errorf("it was sent after %v", took)
		}
		var got map[string]any
		Must(t, json.Unmarshal([]byte(hook.All()[0]), &got))
		stored, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["time"]))
		if err != nil || time.Since(stored) > time.Hour {
			t.Errorf("the time is %v", got["time"])
		}
		if len(fmt.Sprint(got["sequence"])) != 19 {
			t.Errorf("the sequence is %v", got["sequence"])
		}
		delete(got, "time")
		delete(got, "sequence")
		want := map[string]any{
			"specversion": "1.0", "id": r.ID.String(), "source": "https://shop.example", "type": "com.example.order.paid", "dataschema": "https://shop.example/order.paid/1",
			"datacontenttype": "application/json", "data": map[string]any{"order_id": "A"}, "correlationid": "c", "tenant": "north",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("sent was\n%v, want\n%v", got, want)
		}
	})
}

func (env *Env) TestAWebhookThatRefusesAnEventForGoodMakesADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t)
		hook := &webhook{statuses: []int{422, 204, 404, 302, 500, 429, 204}, after: "soon"}
		_, err := cloudevents.Forward(f.Bus, "*", "partner", hook.to(), runtime.WithRetry(retry.MaxAttempts(6)))
		Must(t, err)
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		if n := len(hook.All()); n != 7 {
			t.Errorf("%d requests", n)
		}
		letters := env.Dead(t, f.Path)
		if len(letters) != 1 || letters[0].Reason != "permanent" {
			t.Fatalf("dead letters: %+v", letters)
		}
		if text := letters[0].LastAttempt().Error; text != `webhook https://partner.example/hook has answered 422 Unprocessable Entity: {"detail":"not now"}` {
			t.Errorf("the error is %s", text)
		}
	})
}

// A receiver that is gone gets one event more, and no other one becomes a dead letter.
func (env *Env) TestAWebhookThatIsGonePausesItsSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t)
		hook := &webhook{statuses: []int{204, 410}}
		_, err := cloudevents.Forward(f.Bus, "order.*", "partner", hook.to())
		Must(t, err)
		f.MustStart()
		f.Publish(1, 2, 3, 4)
		time.Sleep(time.Hour)
		pauses, err := f.Bus.Pauses(t.Context())
		Must(t, err)
		if len(pauses) != 1 || pauses[0].Subscription != "partner" || pauses[0].Reason != "webhook https://partner.example/hook has answered 410 Gone: it wants nothing more" {
			t.Errorf("paused is %+v", pauses)
		}
		if n := len(hook.All()); n != 2 {
			t.Errorf("%d requests were made, want 2", n)
		}
		if letters := env.Dead(t, f.Path); len(letters) != 1 || letters[0].Reason != "permanent" {
			t.Errorf("dead letters: %+v", letters)
		}
		Must(t, f.Bus.ResumeSubscription(t.Context(), "partner"))
		f.Idle()
		if n := len(hook.All()); n != 4 {
			t.Errorf("%d requests were made, want 4", n)
		}
	})
}

// The receiver refuses requests with one of the events.
func (env *Env) TestOneEventThatIsRefusedDiesAloneAndNotWithItsBatch(t *testing.T) {
	for _, status := range []int{400, 409, 413, 422} {
		synctest.Test(t, func(t *testing.T) {
			f := env.OpenOutside(t)
			requests, taken := 0, &Journal[string]{}
			hook := roundTripper(func(r *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(r.Body)
				answer := httptest.NewRecorder()
				if requests++; strings.Contains(string(body), `"number":7,`) {
					answer.WriteHeader(status)
					return answer.Result(), nil
				}
				var events []cloudevents.Event
				if err := json.Unmarshal(body, &events); err != nil {
					return nil, err
				}
				for _, e := range events {
					taken.Add(string(e.Data))
				}
				return answer.Result(), nil
			})
			_, err := cloudevents.ForwardBatches(f.Bus, PlacedType, "partner", cloudevents.Webhook{URL: "https://partner.example", Client: &http.Client{Transport: hook}},
				runtime.WithBatch(20, time.Second))
			Must(t, err)
			f.MustStart()
			for n := range 20 {
				f.Publish(n)
			}
			f.Idle()
			letters := env.Dead(t, f.Path)
			if len(letters) != 1 || letters[0].Reason != "permanent" || !strings.Contains(string(letters[0].Payload), `"number":7,`) {
				t.Errorf("%d: dead letters: %+v", status, letters)
			}
			all := taken.All()
			slices.Sort(all)
			if n := len(all); n != 19 || len(slices.Compact(all)) != 19 {
				t.Errorf("%d: %d events were taken, want 19: %q", status, n, all)
			}
			if requests > 12 {
				t.Errorf("%d: %d requests for 20 events", status, requests)
			}
		})
	}
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (env *Env) TestAnEventThatComesBackStaysTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t)
		hook := &webhook{}
		_, err := cloudevents.Forward(f.Bus, "order.*", "partner", hook.to())
		Must(t, err)
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: e.Payload.OrderID}, runtime.WithMetadata(e.Metadata))
			return err
		})
		f.MustStart()
		handler := cloudevents.Receive(f.Bus)
		first := sent("1", "com.example.order.placed", `{"order_id":"A","number":1,"weight":0}`, `,"time":"9999-12-31T23:59:59Z","subject":"s","sequence":"x7","partitionkey":"p","unknown":5,"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","causationid":"k"`)
		if status, problem := receives(handler, "", first); status != http.StatusAccepted {
			t.Fatal(status, problem)
		}
		f.Idle()
		all := hook.All()
		if len(all) != 2 {
			t.Fatalf("sent were %q", all)
		}
		want := `{"specversion":"1.0","id":"1","source":"/crm","type":"com.example.order.placed","subject":"s","time":"9999-12-31T23:59:59Z",` +
			`"dataschema":"https://shop.example/order.placed/1","causationid":"k","partitionkey":"p","sequence":"x7","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","unknown":"5",` +
			`"datacontenttype":"application/json","data":{"order_id":"A","number":1,"weight":0}}`
		if all[0] != want {
			t.Errorf("sent was\n%s, want\n%s", all[0], want)
		}
		var child cloudevents.Event
		Must(t, json.Unmarshal([]byte(all[1]), &child))
		// Its handler has passed on the metadata: another event with the same source and id would be lost.
		if child.ID == "1" || child.Source != "https://shop.example" || child.Extensions["causationid"] == "k" || child.Extensions["sequence"] == "x7" {
			t.Errorf("the child is %+v", child)
		}
		for range 3 { // around in a circle
			if status, problem := receives(handler, "", all[0]); status != http.StatusAccepted {
				t.Fatal(status, problem)
			}
		}
		f.Idle()
		if n := len(hook.All()); n != 2 {
			t.Errorf("sent were %d events", n)
		}
	})
}

func (env *Env) TestBatchesAreForwardedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t)
		hook := &webhook{statuses: []int{500}}
		_, err := cloudevents.ForwardBatches(f.Bus, PlacedType, "partner", hook.to(), runtime.WithBatch(2, time.Second))
		Must(t, err)
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		sizes := []int{}
		numbers := map[string]bool{}
		for _, body := range hook.All() {
			var events []cloudevents.Event
			Must(t, json.Unmarshal([]byte(body), &events))
			sizes = append(sizes, len(events))
			for _, e := range events {
				numbers[e.ID+string(e.Data)] = true
			}
		}
		if len(numbers) != 3 || sizes[0] != 2 || slices.Max(sizes) != 2 {
			t.Errorf("batches of %v with %v", sizes, numbers)
		}
		_, err = cloudevents.Forward(f.Bus, "*", "other", cloudevents.Webhook{URL: "ftp://x:secret@y/"})
		var wrong *cloudevents.WebhookError
		if !errors.As(err, &wrong) || strings.Contains(err.Error(), "secret") {
			t.Errorf("of another scheme: %v", err)
		}
	})
}

// A panic of the program's code behind the handler is no crash of the server.
func (env *Env) TestCodeThatPanicsWhileACloudEventIsStoredRefusesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenOutside(t, runtime.WithPublishMiddleware(func(_ context.Context, p *runtime.Publication) error {
			switch p.Metadata["ce-id"] {
			case "panic":
				panic("secret")
			case "error":
				return errors.New("not today")
			}
			return nil
		}))
		seen := f.allTypes()
		f.MustStart()
		refusals := &Journal[string]{}
		handler := cloudevents.Receive(f.Bus,
			cloudevents.Authorize(func(_ *http.Request, e cloudevents.Event) error {
				switch e.ID {
				case "authorize":
					panic("secret")
				case "forbidden":
					return errors.New("not you")
				}
				return nil
			}),
			cloudevents.OnRefusal(func(_ *http.Request, r *cloudevents.Refusal) { refusals.Add(fmt.Sprintf("%s %d", r.Kind, r.Index)) }))
		for id, want := range map[string]int{"panic": 500, "authorize": 500, "error": 422, "forbidden": 403, "fine": 202} {
			status, problem := receives(handler, "", sent(id, "com.example.order.paid", `{"order_id":"A"}`))
			if status != want || strings.Contains(fmt.Sprint(problem), "secret") {
				t.Errorf("%s: %d %v", id, status, problem)
			}
		}
		f.wantSeen(seen, `order.paid {"order_id":"A"} `)
		got := refusals.All()
		slices.Sort(got)
		if want := []string{"forbidden 0", "internal 0", "internal 0", "refused 0"}; !slices.Equal(got, want) {
			t.Errorf("refused were %q", got)
		}
	})
}
