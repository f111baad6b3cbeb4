package jetstream_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// The other team has no bus. It has the user, the mirror and the consumer of the page, and a client of NATS.

// teamUsers returns the users of a server with whom a bus and the other team come by, as the page has them, and one who
// may do everything. The types that the other team sends are those of this catalogue.
func teamUsers(t *testing.T) []*natsserver.User {
	t.Helper()
	all := blocks(t, "conf", 4)
	clear := strings.NewReplacer("$SHOP_PASSWORD", "secret", "$ADMIN_PASSWORD", "secret", "$PARTNERS_PASSWORD", "secret", "shop-inbox.stock.>", "shop-inbox.>")
	users := map[string]*natsserver.User{"admin": {Username: "admin", Password: "secret"}}
	for _, block := range []string{all[1], all[3]} {
		var options natsserver.Options
		conformance.Must(t, options.ProcessConfigString(clear.Replace(block)))
		for _, u := range options.Users {
			known := users[u.Username]
			switch {
			case u.Username == "admin":
			case known == nil:
				users[u.Username] = &natsserver.User{Username: u.Username, Password: "secret", Permissions: u.Permissions}
			default:
				known.Permissions.Publish.Allow = append(known.Permissions.Publish.Allow, u.Permissions.Publish.Allow...)
			}
		}
	}
	return []*natsserver.User{users["shop"], users["partners"], users["admin"]}
}

// team is what stands around the other team.
type team struct {
	t      *testing.T
	server *servertest.Server
	lines  []*servertest.Line // of the buses, in their order
	log    *textLog
	types  *runtime.Catalogue // of the program with the bus; nil for that of the conformance tests
	admin  js.JetStream
	nc     *nats.Conn   // of the other team
	client js.JetStream // likewise
}

// withTeam calls f in virtual time with a server.
func withTeam(t *testing.T, f func(x *team)) {
	synctest.Test(t, func(t *testing.T) {
		options := servertest.Options(t.TempDir())
		options.NoSystemAccount, options.Users = true, teamUsers(t)
		x := &team{t: t, server: servertest.StartWith(t, options, nil), log: &textLog{}}
		_, x.admin = x.connect("admin", "_INBOX")
		x.nc, x.client = x.connect("partners", "_INBOX_partners")
		f(x)
		time.Sleep(time.Second) // what the server has begun ends after it
	})
}

func (x *team) connect(user, inbox string) (*nats.Conn, js.JetStream) {
	x.t.Helper()
	nc, err := x.server.Connect(nats.UserInfo(user, "secret"), nats.CustomInboxPrefix(inbox), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	conformance.Must(x.t, err)
	x.t.Cleanup(nc.Close)
	client, err := js.New(nc)
	conformance.Must(x.t, err)
	return nc, client
}

// through is how a bus or an operator reaches the server.
func (x *team) through() jetstream.Option {
	line := x.server.Line()
	x.lines = append(x.lines, line)
	return jetstream.Through(func(string) (*nats.Conn, error) {
		return line.Connect(append(jetstream.ClientOptions(), nats.UserInfo("shop", "secret"), nats.PingInterval(time.Hour), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	})
}

// bus opens a bus with a program of the catalogue.
func (x *team) bus(opts ...runtime.Option) *runtime.Bus {
	x.t.Helper()
	opts = append([]runtime.Option{jetstream.Engine(x.through(), jetstream.Silent()), runtime.WithLogger(slog.New(slog.NewTextHandler(x.log, nil)))}, opts...)
	bus, err := runtime.Open(context.Background(), "nats://test/shop", cmp.Or(x.types, conformance.Catalogue), opts...)
	conformance.Must(x.t, err)
	x.t.Cleanup(func() { bus.Shutdown(context.Background()) })
	return bus
}

// receiving is bus, and takes in what others send.
func (x *team) receiving(opts ...runtime.Option) *runtime.Bus {
	x.t.Helper()
	bus := x.bus(opts...)
	_, err := runtime.SubscribeInbox(bus, "inbox")
	conformance.Must(x.t, err)
	conformance.Must(x.t, bus.Start(context.Background()))
	return bus
}

// mirror makes the mirror and the consumer of the page.
func (x *team) mirror() {
	x.t.Helper()
	all := blocks(x.t, "json", 2)
	var config js.StreamConfig
	conformance.Must(x.t, json.Unmarshal([]byte(all[0]), &config))
	config.Replicas = 1 // there is one server
	if x.server != nil {
		config.MaxAge = 0 // the server compares ages with the time of this machine, also in virtual time
	}
	_, err := x.admin.CreateStream(context.Background(), config)
	conformance.Must(x.t, err)
	var reader js.ConsumerConfig
	conformance.Must(x.t, json.Unmarshal([]byte(all[1]), &reader))
	_, err = x.admin.CreateConsumer(context.Background(), config.Name, reader)
	conformance.Must(x.t, err)
}

// read reads what the consumer of the team has, by plain requests: so a client in any language does it.
func (x *team) read(most int) (all []*nats.Msg) {
	x.t.Helper()
	inbox := x.nc.NewInbox()
	sub, err := x.nc.SubscribeSync(inbox)
	conformance.Must(x.t, err)
	defer sub.Unsubscribe()
	conformance.Must(x.t, x.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.shop-copy.partners", inbox, fmt.Appendf(nil, `{"batch":%d,"no_wait":true}`, most)))
	for {
		m, err := sub.NextMsg(5 * time.Second)
		if errors.Is(err, nats.ErrTimeout) || err == nil && m.Header.Get("Status") != "" {
			return all
		}
		conformance.Must(x.t, err)
		conformance.Must(x.t, m.Respond([]byte("+ACK")))
		all = append(all, m)
	}
}

// moved returns how many messages of the inbox have become events.
func (x *team) moved() (n uint64) {
	x.t.Helper()
	s, err := x.admin.Stream(context.Background(), "shop")
	conformance.Must(x.t, err)
	info, err := s.Info(context.Background(), js.WithSubjectFilter("shop.e.*.$inbox"))
	conformance.Must(x.t, err)
	for _, of := range info.State.Subjects {
		n += of
	}
	return n
}

// letters returns the dead letters of the bus, the oldest first.
func (x *team) letters() (all []event.DeadLetter, file *inspect.File) {
	x.t.Helper()
	file, err := inspect.Open(context.Background(), "nats://test/shop", jetstream.Inspect(x.through()), inspect.WithEditing(func(string, int, []byte) error { return nil }))
	conformance.Must(x.t, err)
	x.t.Cleanup(func() { file.Close() })
	all, _, err = file.DeadLetters(context.Background(), event.Filter{}, event.Page{})
	conformance.Must(x.t, err)
	slices.Reverse(all)
	return all, file
}

func TestATeamWithoutABusReadsEveryEventOfItsTypesWhenTheBusHasForgottenThem(t *testing.T) {
	withTeam(t, func(x *team) {
		ctx := context.Background()
		bus := x.bus(runtime.WithRetention(time.Minute))
		x.mirror()
		want := map[string]string{} // what the headers and the body say, by id
		note := func(id fmt.Stringer, event, key, body string) {
			want[id.String()] = strings.Join([]string{event, key, body}, " ")
		}
		_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			if e.Payload.Number == 7 {
				return runtime.Permanent(errors.New("no such order"))
			}
			if e.Payload.Number == 1 {
				r, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: "A"})
				conformance.Must(t, err)
				note(r.ID, "order.paid", "", `{"order_id":"A"}`)
			}
			return nil
		})
		conformance.Must(t, err)
		_, err = runtime.SubscribeDead(bus, conformance.PlacedType, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[conformance.OrderPlaced]]) error { return nil })
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(ctx))
		for n, opts := range [][]runtime.PublishOption{
			0: nil, 1: {runtime.WithMetadata(map[string]string{"tenant": "ö \n \"x\""})}, 2: {runtime.WithDedupeKey("k")}, 3: {runtime.WithDelay(time.Hour)}, 7: nil,
		} {
			r, err := runtime.Publish(ctx, bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "é\"", Number: n}, opts...)
			conformance.Must(t, err)
			note(r.ID, "order.placed", `"é\""`, fmt.Sprintf(`{"order_id":"é\"","number":%d,"weight":0}`, n))
		}
		all, err := runtime.PublishBatch(ctx, bus, conformance.PaidType, make([]conformance.OrderPaid, 3))
		conformance.Must(t, err)
		for _, r := range all {
			note(r.ID, "order.paid", "", `{"order_id":""}`)
		}
		_, err = runtime.Publish(ctx, bus, conformance.UserType, conformance.UserCreated{Name: "Ada"}) // not for them
		conformance.Must(t, err)
		time.Sleep(time.Minute)
		letters, file := x.letters()
		dead := 0
		for _, one := range letters {
			if dead++; one.Type == "order.placed" {
				_, err = file.Edit(ctx, event.Key{EventID: one.EventID, Subscription: one.Subscription}, []byte(`{"order_id":"A","number":8,"weight":0}`))
				conformance.Must(t, err)
			}
		}
		if dead < 1 {
			t.Errorf("there are %d dead letters", dead)
		}
		time.Sleep(3 * time.Hour)
		s, err := x.admin.Stream(ctx, "shop")
		conformance.Must(t, err)
		info, err := s.Info(ctx, js.WithSubjectFilter("shop.e.>"))
		conformance.Must(t, err)
		if n := len(info.State.Subjects); n > 1 { // the newest event stays
			t.Errorf("the bus still has %v", info.State.Subjects)
		}
		got, last := x.read(1000), uint64(0)
		for _, m := range got {
			id := m.Header.Get("Nats-Msg-Id")
			if said := strings.Join([]string{m.Header.Get("Busgen-Type"), m.Header.Get("Busgen-Key"), string(m.Data)}, " "); said != want[id] {
				t.Errorf("event %s says %s, want %s", id, said, want[id])
			}
			delete(want, id)
			if m.Header.Get("Busgen-Version") != "1" || m.Header.Get("Content-Type") != "application/json" {
				t.Errorf("event %s has the headers %v", id, m.Header)
			}
			if at, err := time.Parse(time.RFC3339Nano, m.Header.Get("Busgen-Created")); err != nil || time.Since(at) > 4*time.Hour {
				t.Errorf("event %s was published at %v (%v)", id, at, err)
			}
			meta, err := m.Metadata()
			conformance.Must(t, err)
			if meta.Sequence.Stream <= last {
				t.Errorf("event %s is out of order", id)
			}
			last = meta.Sequence.Stream
			if strings.Contains(string(m.Data), `"number":1`) && !strings.Contains(m.Header.Get("Busgen-Metadata"), `"tenant":"ö \n \"x\""`) {
				t.Errorf("event %s has the metadata %s", id, m.Header.Get("Busgen-Metadata"))
			}
			if due := m.Header.Get("Busgen-Due"); (due != "") != strings.Contains(string(m.Data), `"number":3`) {
				t.Errorf("event %s is due %q", id, due)
			}
		}
		if len(want) > 0 {
			t.Errorf("of %d events that were read, these are missing: %v", len(got), want)
		}
	})
}

// errOf returns the error of a call that makes a subscription.
func errOf(_ *runtime.Subscription, err error) error { return err }

// sent is a message of the other team.
func sent(subject, id, body string, headers ...string) *nats.Msg {
	m := nats.NewMsg("shop-inbox." + subject)
	m.Data = []byte(body)
	if id != "" {
		m.Header.Set("Nats-Msg-Id", id)
	}
	for i := 0; i < len(headers); i += 2 {
		m.Header[headers[i]] = append(m.Header[headers[i]], headers[i+1])
	}
	return m
}

func (x *team) send(m *nats.Msg) {
	x.t.Helper()
	_, err := x.client.PublishMsg(context.Background(), m)
	conformance.Must(x.t, err)
}

func TestWhatATeamSendsIsPublishedOnceAndRefusedMessagesAreDeadLettersThatSayWhy(t *testing.T) {
	withTeam(t, func(x *team) {
		ctx := context.Background()
		bus := x.receiving()
		type handled struct{ body, metadata string }
		var all []handled
		conformance.Must(t, errOf(runtime.SubscribePattern(bus, "order.*", "orders", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			metadata, _ := json.Marshal(e.Metadata)
			all = append(all, handled{string(e.Payload), string(metadata)})
			if e.ParentID == uuid.Nil || e.PublishedBy != "inbox" {
				t.Errorf("the event is the child of %v, by %q", e.ParentID, e.PublishedBy)
			}
			return nil
		})))
		good := `{"order_id": "A", "number": 1, "weight": 2}`
		x.send(sent("order.placed", "1", good, "Busgen-Metadata", `{"tenant":"x"}`, "Busgen-Version", "1", "Content-Type", "application/json; charset=utf-8"))
		x.send(sent("order.placed", "1", good, "Busgen-Metadata", `{"tenant":"x"}`))
		time.Sleep(time.Minute)
		x.send(sent("order.paid", "1b", `{"order_id":"A"}`))
		time.Sleep(10 * time.Minute)
		x.send(sent("order.placed", "1", `{"weight":2,"number":1,"order_id":"A"}`))
		time.Sleep(time.Second)
		for name, one := range map[string]struct {
			m   *nats.Msg
			why string
		}{
			"another payload":     {sent("order.placed", "1", `{"order_id":"B","number":1,"weight":2}`), "was used before for another order.placed"},
			"the id of another":   {sent("order.paid", "1", `{"order_id":"A"}`), "was used before"},
			"an unknown type":     {sent("order.shipped", "2", `{}`), "order.shipped is not in the catalogue"},
			"a missing field":     {sent("order.placed", "3", `{"order_id":"A"}`), "number"},
			"an unknown field":    {sent("order.paid", "4", `{"order_id":"A","more":1}`), "more"},
			"no JSON":             {sent("order.paid", "5", "hello \xff"), "not JSON"},
			"nothing":             {sent("order.paid", "6", ""), "not JSON"},
			"no id":               {sent("order.paid", "", `{"order_id":"A"}`), "no id"},
			"a long id":           {sent("order.paid", strings.Repeat("x", 201), `{"order_id":"A"}`), "1 to 200 bytes"},
			"another type":        {sent("order.paid", "7", `{"order_id":"A"}`, "Busgen-Type", "order.placed"), "the subject says"},
			"another content":     {sent("order.paid", "8", `{"order_id":"A"}`, "Content-Type", "text/plain"), "Content-Type"},
			"no version":          {sent("order.paid", "9", `{"order_id":"A"}`, "Busgen-Version", "one"), "Busgen-Version"},
			"a later version":     {sent("order.paid", "10", `{"order_id":"A"}`, "Busgen-Version", "9"), "version"},
			"metadata of the bus": {sent("order.paid", "11", `{"order_id":"A"}`, "Busgen-Metadata", `{"hops":"0"}`), "hops"},
			"metadata of numbers": {sent("order.paid", "12", `{"order_id":"A"}`, "Busgen-Metadata", `{"x":1}`), "Busgen-Metadata"},
			"a delay":             {sent("order.paid", "13", `{"order_id":"A"}`, "Busgen-Due", "2030-01-01T00:00:00Z"), "Busgen-Due"},
			"a header twice":      {sent("order.paid", "14", `{"order_id":"A"}`, "Busgen-Version", "1", "Busgen-Version", "1"), "2 times"},
			"the bus's own type":  {sent("$inbox", "15", `{}`), "$inbox"},
		} {
			x.send(one.m)
			time.Sleep(time.Second)
			letters, _ := x.letters()
			letter := letters[len(letters)-1]
			if why := letter.LastAttempt().Error; letter.Subscription != "inbox" || !strings.Contains(why, one.why) || len(letter.Attempts) != 1 {
				t.Errorf("%s: %d attempts, the last one: %s, want %q", name, len(letter.Attempts), why, one.why)
			}
			if body := string(one.m.Data); json.Valid(one.m.Data) && !strings.Contains(string(letter.Payload), body) || !strings.Contains(string(letter.Payload), body[:min(len(body), 5)]) {
				t.Errorf("%s: the dead letter has %s", name, letter.Payload)
			}
		}
		letters, file := x.letters()
		if status, err := file.Status(ctx); err != nil || status.DeadLetters != len(letters) || len(letters) != 18 {
			t.Errorf("%d dead letters, and the status says %+v (%v)", len(letters), status, err)
		}
		i := slices.IndexFunc(letters, func(l event.DeadLetter) bool { return strings.Contains(l.LastAttempt().Error, "more") })
		fixed := strings.Replace(string(letters[i].Payload), `,"more":1`, "", 1)
		_, err := file.Edit(ctx, event.Key{EventID: letters[i].EventID, Subscription: letters[i].Subscription}, []byte(fixed))
		conformance.Must(t, err)
		time.Sleep(time.Second)
		want := []handled{
			{`{"order_id":"A","number":1,"weight":2}`, `{"tenant":"x"}`}, {`{"order_id":"A"}`, `{}`}, {`{"order_id":"A"}`, `{}`},
		}
		for i := range all {
			var metadata map[string]string
			json.Unmarshal([]byte(all[i].metadata), &metadata)
			delete(metadata, event.CorrelationKey)
			text, _ := json.Marshal(metadata)
			all[i].metadata = string(text)
		}
		if !slices.Equal(all, want) {
			t.Errorf("handled were\n%v, want\n%v", all, want)
		}
		if s, err := x.admin.Stream(ctx, "shop-inbox"); err != nil || s.CachedInfo().State.Msgs != 0 {
			t.Errorf("the inbox still has %d messages (%v)", s.CachedInfo().State.Msgs, err)
		}
	})
}

func TestWhatATeamSendsWhileNoBusRunsWaitsAndIsTakenInInItsOrder(t *testing.T) {
	withTeam(t, func(x *team) {
		ctx := context.Background()
		conformance.Must(t, x.receiving().Shutdown(ctx)) // which makes the inbox
		for n := range 600 {
			x.send(sent("order.placed", fmt.Sprint(n), fmt.Sprintf(`{"order_id":"A","number":%d,"weight":0}`, n)))
		}
		var got []int
		for range 2 { // which share
			bus := x.receiving()
			conformance.Must(t, errOf(runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
				got = append(got, e.Payload.Number)
				return nil
			}, runtime.FromBeginning())))
		}
		time.Sleep(time.Minute)
		if moved := x.moved(); len(got) != 600 || !slices.IsSorted(got) || moved != 600 {
			t.Errorf("%d messages were taken in, and %d events published: %v", moved, len(got), got)
		}
	})
}

// A bus is cut off when it has written so much. Another one goes on.
func TestWhereverABusIsCutOffWhatWasSentIsTakenInOnce(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 3
	}
	for writes := 1; writes <= 12; writes += step {
		t.Run(fmt.Sprint(writes), func(t *testing.T) {
			withTeam(t, func(x *team) {
				x.receiving()
				time.Sleep(time.Second)
				for n := range 20 {
					x.send(sent("order.paid", fmt.Sprint(n), `{"order_id":"A"}`))
				}
				x.lines[0].CutAfter(writes)
				time.Sleep(2 * time.Second)
				counts := map[string]int{}
				bus := x.receiving()
				conformance.Must(t, errOf(runtime.SubscribePattern(bus, "order.*", "orders", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
					counts[e.ID.String()]++
					return nil
				}, runtime.FromBeginning())))
				time.Sleep(20 * time.Second) // the other one is dead after eight
				if moved := x.moved(); len(counts) != 20 || moved != 20 {
					t.Errorf("%d events were published, and %d messages taken in, want 20", len(counts), moved)
				}
			})
		})
	}
}

func TestATeamMayDoNoMoreThanReadItsCopyAndSend(t *testing.T) {
	withTeam(t, func(x *team) {
		ctx := context.Background()
		bus := x.receiving()
		x.mirror()
		_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: "A"})
		conformance.Must(t, err)
		time.Sleep(time.Second)
		if n := len(x.read(10)); n != 1 {
			t.Errorf("the team reads %d events, want 1", n)
		}
		count := func() (n int) {
			for name, filter := range map[string]string{"shop": "shop.e.>", "shop-copy": ">", "shop-inbox": ">"} {
				s, err := x.admin.Stream(ctx, name)
				conformance.Must(t, err)
				info, err := s.Info(ctx, js.WithSubjectFilter(filter))
				conformance.Must(t, err)
				for _, of := range info.State.Subjects {
					n += int(of)
				}
			}
			return n
		}
		conformance.Must(t, bus.Shutdown(ctx))
		before := count()
		for _, subject := range []string{
			"shop.e.00.order.paid", "shop.n", "shop-copy.x", "$JS.API.STREAM.PURGE.shop", "$JS.API.STREAM.PURGE.shop-inbox", "$JS.API.STREAM.DELETE.shop-inbox",
			"$JS.API.STREAM.MSG.DELETE.shop-copy", "$JS.API.CONSUMER.CREATE.shop-copy.x", "$JS.API.CONSUMER.DELETE.shop-copy.partners", "$JS.API.STREAM.MSG.GET.shop", "$JS.API.DIRECT.GET.shop",
		} {
			if _, err := x.nc.Request(subject, []byte("{}"), time.Second); err == nil {
				t.Errorf("the team gets an answer of %s", subject)
			}
		}
		if _, err := x.nc.SubscribeSync("_INBOX.>"); err == nil {
			x.nc.Flush()
			if x.nc.LastError() == nil {
				t.Error("the team reads the answers of others")
			}
		}
		for header, value := range map[string]string{"Nats-Rollup": "all", "Nats-TTL": "1s", "Nats-Batch-Id": "b"} {
			if _, err := x.client.PublishMsg(ctx, sent("order.paid", "1", `{"order_id":"A"}`, header, value)); err == nil {
				t.Errorf("the inbox takes a message with %s: %s", header, value)
			}
		}
		time.Sleep(time.Minute)
		if after := count(); after != before {
			t.Errorf("there were %d messages, and are %d", before, after)
		}
	})
}

// Each permission of the page is needed: without it the team cannot do its work, or the bus says what is missing.
func TestEachPermissionOfTheTeamIsNeeded(t *testing.T) {
	var own, theirs []string
	for _, u := range teamUsers(t)[:2] {
		for _, one := range append(slices.Clone(u.Permissions.Publish.Allow), "") {
			switch {
			case u.Username == "partners" && one != "":
				theirs = append(theirs, one)
			case strings.HasSuffix(one, ".shop-inbox"):
				own = append(own, one)
			}
		}
	}
	if len(own) != 4 || len(theirs) != 3 {
		t.Fatalf("the page has %q and %q", own, theirs)
	}
	for _, missing := range append(own, theirs...) {
		t.Run(missing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options, log := servertest.Options(t.TempDir()), &textLog{}
				options.NoSystemAccount, options.Users = true, teamUsers(t)
				for _, u := range options.Users[:2] {
					u.Permissions.Publish.Allow = slices.DeleteFunc(u.Permissions.Publish.Allow, func(one string) bool { return one == missing })
				}
				x := &team{t: t, server: servertest.StartWith(t, options, nil), log: log}
				_, x.admin = x.connect("admin", "_INBOX")
				x.nc, x.client = x.connect("partners", "_INBOX_partners")
				bus := x.bus()
				defer time.Sleep(time.Second)
				_, err := runtime.SubscribeInbox(bus, "inbox")
				if err != nil {
					if !strings.Contains(err.Error(), missing) {
						t.Errorf("the error does not say what is missing: %v", err)
					}
					return
				}
				x.mirror()
				conformance.Must(t, bus.Start(context.Background()))
				brief, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_, wrong := x.client.PublishMsg(brief, sent("order.paid", "1", `{"order_id":"A"}`))
				time.Sleep(time.Minute)
				read := x.read(10)
				reader, err := x.admin.Consumer(context.Background(), "shop-copy", "partners")
				conformance.Must(t, err)
				said := log.count(missing) > 0
				if wrong == nil && len(read) == 1 && reader.CachedInfo().NumAckPending == 0 && !said {
					t.Errorf("nothing fails without %s", missing)
				}
			})
		})
	}
}

// What is sensitive in an event is so in the message with which it was sent, whether or not it fits.
func TestSensitiveValuesOfWhatATeamSendsAreHidden(t *testing.T) {
	withTeam(t, func(x *team) {
		ctx := context.Background()
		x.types = runtime.NewCatalogue(runtime.Define(runtime.Spec[inspection.Registered]{
			Name: "user.registered", Settings: declare.DefaultSettings(), Schema: inspection.RegisteredSchema, Aliases: []string{"user.made"},
		}))
		x.receiving()
		for id, body := range map[string]string{
			"fits":       `{"number":"1","email":"ada@example.org","age":36,"plan":"gold","note":""}`,
			"lacks":      `{"number":"1","email":"ada@example.org","plan":"gold"}`,
			"is no JSON": `{"number":"1","email":"ada@example.org"`,
		} {
			x.send(sent("user.registered", id, body, "Busgen-Metadata", `{"who":"ada@example.org"}`))
			x.send(sent("user.made", "former "+id, body))
		}
		x.send(sent("user.registered", "ada@example.org", `{"number":"1","email":"ada@example.org","plan":"gold"}`))
		time.Sleep(time.Minute)
		letters, file := x.letters()
		if len(letters) != 5 {
			t.Errorf("%d dead letters", len(letters))
		}
		if types, err := file.SensitiveTypes(ctx); err != nil || !slices.Contains(types, "$inbox") {
			t.Errorf("sensitive are %v (%v)", types, err)
		}
		hiding := file.Hiding()
		shown, _, err := hiding.DeadLetters(ctx, event.Filter{}, event.Page{})
		conformance.Must(t, err)
		events, _, err := hiding.Events(ctx, event.Filter{Types: []string{"$inbox"}}, event.Page{})
		conformance.Must(t, err)
		groups, err := hiding.FailureGroups(ctx, event.Filter{})
		conformance.Must(t, err)
		text, err := json.Marshal([]any{shown, events, groups})
		conformance.Must(t, err)
		if all := string(text) + x.log.text.String(); strings.Contains(all, "ada@") || !strings.Contains(all, "gold") || len(events) != 7 {
			t.Errorf("%d messages are shown:\n%s", len(events), all)
		}
		found, _, err := hiding.DeadLetters(ctx, event.Filter{Text: "ada@"}, event.Page{})
		if err != nil || len(found) > 0 {
			t.Errorf("%d dead letters are found by a hidden value (%v)", len(found), err)
		}
	})
}

// A stream that others have made, and that is not safe to let a team publish to, is no inbox.
func TestAnInboxInWhichOthersCouldDeleteIsRefused(t *testing.T) {
	for name, config := range map[string]js.StreamConfig{
		"roll-ups":   {AllowRollup: true, AllowDirect: true},
		"other ones": {Subjects: []string{"shop-inbox.order.>"}, AllowDirect: true},
		"an age":     {MaxAge: time.Hour, AllowDirect: true},
		"a queue":    {Retention: js.WorkQueuePolicy, AllowDirect: true},
	} {
		t.Run(name, func(t *testing.T) {
			withTeam(t, func(x *team) {
				if config.Name = "shop-inbox"; config.Subjects == nil {
					config.Subjects = []string{"shop-inbox.>"}
				}
				_, err := x.admin.CreateStream(context.Background(), config)
				conformance.Must(t, err)
				_, err = runtime.SubscribeInbox(x.bus(), "inbox")
				var storage *event.StorageError
				if !errors.As(err, &storage) || storage.Fault != event.Foreign || !strings.Contains(err.Error(), "shop-inbox") {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

func TestAnInboxThatWasMadeAnewIsTakenInFromItsBeginning(t *testing.T) {
	withTeam(t, func(x *team) {
		ctx, handled := context.Background(), 0
		bus := x.receiving()
		conformance.Must(t, errOf(runtime.Subscribe(bus, conformance.PaidType, "paid", func(context.Context, runtime.Event[conformance.OrderPaid]) error {
			handled++
			return nil
		})))
		for n := range 5 {
			x.send(sent("order.paid", fmt.Sprint(n), `{"order_id":"A"}`))
		}
		time.Sleep(time.Minute)
		conformance.Must(t, x.admin.DeleteStream(ctx, "shop-inbox"))
		time.Sleep(time.Minute) // the bus makes it
		x.send(sent("order.paid", "later", `{"order_id":"A"}`))
		time.Sleep(time.Minute)
		if handled != 6 {
			t.Errorf("%d events are handled, want 6: %s", handled, x.log.text.String())
		}
	})
}

func TestABusInAFileSaysThatItHasNoInbox(t *testing.T) {
	bus, err := runtime.Open(t.Context(), t.TempDir()+"/shop.db", conformance.Catalogue)
	conformance.Must(t, err)
	defer bus.Shutdown(t.Context())
	if _, err = runtime.SubscribeInbox(bus, "inbox"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "outbox") {
		t.Error(err)
	}
}
