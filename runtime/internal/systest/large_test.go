package systest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/retry"
)

// largeSent is an event of any size.
var largeSent = runtime.Define(runtime.Spec[text]{Name: "text.sent", Settings: settingsOfLarge()})

func settingsOfLarge() declare.Settings {
	s := declare.DefaultSettings()
	s.Retry = s.Retry.With(retry.WithBackoff(retry.None))
	return s
}

func openLarge(t *testing.T, path string) *runtime.Bus {
	t.Helper()
	bus, err := runtime.Open(t.Context(), path, runtime.NewCatalogue(largeSent), runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithPayloadLimit(64<<20), runtime.WithTxLimit(time.Minute)) // a machine may be slow
	Must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	return bus
}

// becomesIdle waits until everything is settled, and no longer than that may take on a slow disk.
func becomesIdle(t *testing.T, bus *runtime.Bus) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	Must(t, bus.WaitIdle(ctx))
}

// useMemory gives SQLite so much memory for each connection of the bus.
func useMemory(t *testing.T, bytes int64) {
	before := database.BusMemory
	database.BusMemory = bytes
	t.Cleanup(func() { database.BusMemory = before })
}

func TestAPayloadThatSQLiteHasNoMemoryForIsHandled(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "shop.db")
	bus := openLarge(t, path)
	const events, size = 3, 20 << 20
	for range events {
		_, err := runtime.Publish(t.Context(), bus, largeSent, text{strings.Repeat("x", size)})
		Must(t, err)
	}
	Must(t, bus.Shutdown(t.Context()))
	useMemory(t, 16<<20)

	bus = openLarge(t, path)
	var mu sync.Mutex
	calls := map[string]int{}
	handler := func(_ context.Context, e runtime.Event[text]) error {
		mu.Lock()
		defer mu.Unlock()
		if calls[e.ID.String()]++; len(e.Payload.Text) != size || calls[e.ID.String()] == 1 {
			return errors.New("come again")
		}
		return nil
	}
	_, err := runtime.Subscribe(bus, largeSent, "read", handler, runtime.FromBeginning())
	Must(t, err)
	Must(t, bus.Start(t.Context()))
	becomesIdle(t, bus)
	for id, n := range calls {
		if n != 2 {
			t.Errorf("%s was handled %d times, want a failure and a success", id, n)
		}
	}
	if len(calls) != events {
		t.Errorf("%d events of %d were handled", len(calls), events)
	}
}

func TestABatchThatSQLiteHasNoMemoryForIsWrittenEventByEvent(t *testing.T) {
	useMemory(t, 15<<20)
	bus := openLarge(t, filepath.Join(t.TempDir(), "shop.db"))
	batch := make([]text, 8)
	for i := range batch {
		batch[i].Text = strings.Repeat("x", 15<<17)
	}
	_, err := runtime.PublishBatch(t.Context(), bus, largeSent, batch)
	Must(t, err)
}

func TestAnEventThatIsTooLongToBeReadIsADeadLetterAndItsNeighboursAreHandled(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "shop.db")
	bus := openLarge(t, path)
	_, err := runtime.Subscribe(bus, largeSent, "read", nothing, runtime.FromBeginning())
	Must(t, err)
	publish := func() {
		_, err := runtime.Publish(t.Context(), bus, largeSent, text{"small"})
		Must(t, err)
	}
	publish()
	useMemory(t, 1<<30)
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	Must(t, err)
	Must(t, c.Exec(`INSERT INTO busgen_log (id, type, payload, created_at)
		SELECT randomblob(16), type, CAST(zeroblob(130 << 20) AS TEXT), created_at FROM busgen_log`))
	Must(t, c.Close())
	publish()
	Must(t, bus.Start(t.Context()))
	becomesIdle(t, bus)

	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer file.Close()
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	if len(letters) != 1 || letters[0].Reason != "decode" || !strings.Contains(letters[0].LastAttempt().Error, "130.0 MiB") {
		t.Fatalf("the dead letters are %+v", letters)
	}
	status, err := file.Status(t.Context())
	Must(t, err)
	if s := status.Subscriptions[0]; s.Backlog != 0 || s.Dead != 1 {
		t.Errorf("the subscription has %+v", s)
	}
	_, err = file.Retry(t.Context(), inspect.Only(letters[0].Key)) // which reads it as a retry
	Must(t, err)
	becomesIdle(t, bus)
}

func nothing(context.Context, runtime.Event[text]) error { return nil }

func TestAnEventOfOutboxIsNoLongerThanOneOfPublish(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "shop.db")
	openLarge(t, path)
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	Must(t, err)
	defer c.Close()
	for what, values := range map[string]string{
		"payload":  `'{"text":"' || hex(zeroblob(33 << 20)) || '"}', NULL`,
		"metadata": `'{"text":""}', '{"a":"' || hex(zeroblob(1 << 19)) || '"}'`,
	} {
		err := c.Exec("INSERT INTO outbox (type, payload, metadata) VALUES ('text.sent', " + values + ")")
		if err == nil || !strings.Contains(err.Error(), "64 MiB of payload and 1 MiB of metadata") || !strings.Contains(err.Error(), "text.sent") {
			t.Errorf("too much %s: got %v", what, err)
		}
	}
	Must(t, c.Exec(`INSERT INTO outbox (type, payload) VALUES ('text.sent', '{"text":"' || hex(zeroblob(16 << 20)) || '"}')`))
}

func TestAnEventOfOutboxInATransactionIsNoLongerThanOneOfPublish(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	bus := openLarge(t, filepath.Join(t.TempDir(), "shop.db"))
	for values, want := range map[string]string{
		`'{"text":"' || hex(zeroblob(32 << 20)) || '"}', NULL`:      "too big", // longer by its frame; no value of a transaction is
		`'{"text":""}', '{"a":"' || hex(zeroblob(1 << 19)) || '"}'`: "1 MiB of metadata",
	} {
		err := runtime.Transact(t.Context(), bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(t.Context(), "INSERT INTO outbox (type, payload, metadata) VALUES ('text.sent', "+values+")")
			return err
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("VALUES (%s): got %v, want an error with %q", values, err, want)
		}
	}
	var events int
	Must(t, runtime.DB(bus).QueryRowContext(t.Context(), "SELECT count(*) FROM events").Scan(&events))
	if events != 0 {
		t.Errorf("%d events are stored, want none", events)
	}
}

// The limit of metadata does not grow with that of payloads.
func TestMetadataHasAMebibyteHoweverLargePayloadsMayBe(t *testing.T) {
	bus := openLarge(t, filepath.Join(t.TempDir(), "shop.db"))
	const limit, frame = 1 << 20, len(`{"a":""}`)
	for size, fits := range map[int]bool{limit: true, limit + 1: false} {
		_, err := runtime.Publish(t.Context(), bus, largeSent, text{}, runtime.WithMetadata(map[string]string{"a": strings.Repeat("x", size-frame)}))
		var large *runtime.PayloadTooLargeError
		if fits {
			Must(t, err)
		} else if !errors.As(err, &large) || large.What != "metadata" || large.Size != size || large.Limit != limit {
			t.Errorf("metadata of %d bytes: got %v", size, err)
		}
	}
}

func TestAStatementOfTheDatabaseThatNeedsTooMuchMemoryIsAnError(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	bus := openLarge(t, filepath.Join(t.TempDir(), "shop.db"))
	db := runtime.DB(bus)
	for _, sql := range []string{
		"SELECT hex(zeroblob(100000000))",
		"SELECT hex(zeroblob(x)) FROM (SELECT 1 AS x UNION ALL SELECT 100000000)", // the second row
		"CREATE TABLE large AS SELECT hex(zeroblob(100000000))",
	} {
		for range 6 { // together more than there are connections
			rows, err := db.QueryContext(t.Context(), sql)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				rows.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "memory") {
				t.Fatalf("%s: got %v", sql, err)
			}
		}
	}
	var n int
	Must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM events").Scan(&n))
	_, err := runtime.Publish(t.Context(), bus, largeSent, text{})
	Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	Must(t, bus.Shutdown(ctx))
}

func TestALongPayloadIsListedByItsBeginningAndExportedWhole(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "shop.db")
	bus := openLarge(t, path)
	_, err := runtime.Subscribe(bus, largeSent, "read", func(context.Context, runtime.Event[text]) error {
		return runtime.Permanent(errors.New("no"))
	})
	Must(t, err)
	const size = 2 << 20
	receipt, err := runtime.Publish(t.Context(), bus, largeSent, text{"begins" + strings.Repeat("x", size)})
	Must(t, err)
	Must(t, bus.Start(t.Context()))
	becomesIdle(t, bus)
	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer file.Close()

	whole := func(what string, payload []byte, bytes int64) {
		t.Helper()
		if bytes != 0 || len(payload) < size {
			t.Errorf("%s has %d bytes, and says %d", what, len(payload), bytes)
		}
	}
	beginning := func(what string, payload []byte, bytes int64) {
		t.Helper()
		var shown string
		if json.Unmarshal(payload, &shown) != nil || bytes < size || !strings.HasPrefix(shown, `{"text":"beginsxxx`) || len(shown) > 2000 || !strings.Contains(shown, "2.0 MiB") {
			t.Errorf("%s is %.100s, and says %d bytes", what, payload, bytes)
		}
	}
	events, _, err := file.Events(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	beginning("the event of a list", events[0].Payload, events[0].PayloadBytes)
	search, err := file.SearchEvents(t.Context(), event.Filter{}, event.Page{}, 10)
	Must(t, err)
	beginning("the event of a search", search.Events[0].Payload, search.Events[0].PayloadBytes)
	one, err := file.Event(t.Context(), receipt.ID)
	Must(t, err)
	whole("the event", one.Payload, one.PayloadBytes)
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	beginning("the dead letter of a list", letters[0].Payload, letters[0].PayloadBytes)
	letter, err := file.DeadLetter(t.Context(), letters[0].Key)
	Must(t, err)
	whole("the dead letter", letter.Payload, letter.PayloadBytes)

	var export strings.Builder
	_, err = file.Export(t.Context(), &export, event.Filter{})
	Must(t, err)
	other := filepath.Join(folder, "other.db")
	to := openLarge(t, other)
	_, err = runtime.Subscribe(to, largeSent, "read", nothing)
	Must(t, err)
	Must(t, to.Start(t.Context()))
	there, err := inspect.Open(t.Context(), other)
	Must(t, err)
	defer there.Close()
	listed, err := json.Marshal(letters[0])
	Must(t, err)
	if _, err := there.Import(t.Context(), strings.NewReader(string(listed))); err == nil || !strings.Contains(err.Error(), "beginning of the payload") {
		t.Errorf("the line of a list is imported: %v", err)
	}
	for range 2 { // the second time it is there
		_, err = there.Import(t.Context(), strings.NewReader(export.String()))
		Must(t, err)
	}
	letter, err = there.DeadLetter(t.Context(), letters[0].Key)
	Must(t, err)
	whole("the imported dead letter", letter.Payload, letter.PayloadBytes)
}

func TestTheBeginningOfALongPayloadShowsNoSensitiveValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	sent := runtime.Define(runtime.Spec[text]{
		Name: "text.sent", Settings: declare.DefaultSettings(), Schema: `{"event":"text.sent","version":1,"payload":{"text":{"type":"string","sensitive":true}}}`,
	})
	bus, err := runtime.Open(t.Context(), path, runtime.NewCatalogue(sent), runtime.WithPayloadLimit(4<<20))
	Must(t, err)
	defer bus.Shutdown(t.Context())
	_, err = runtime.Publish(t.Context(), bus, sent, text{"secret" + strings.Repeat("x", 2<<20)})
	Must(t, err)
	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer file.Close()
	events, _, err := file.Hiding().Events(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	if shown := string(events[0].Payload); !strings.Contains(shown, inspect.HiddenValue) || strings.Contains(shown, "secret") {
		t.Errorf("it shows %.100s", shown)
	}
}
