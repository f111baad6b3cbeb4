package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// crm is a service with dead letters: it knows nobody from Atlantis, and nothing
// at all while it is down.
type crm struct {
	bus  *runtime.Bus
	path string
	down atomic.Bool
	has  chan string // the addresses that it has taken in
}

func newCRM(emails ...string) *crm {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "busgen-example-")
	if err != nil {
		panic(err)
	}
	c := &crm{path: filepath.Join(folder, "shop.db"), has: make(chan string, 10)}
	c.down.Store(true)
	if c.bus, err = events.Open(ctx, c.path, runtime.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		panic(err)
	}
	events.SubscribeUserRegistered(c.bus, "crm", func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
		switch {
		case strings.HasSuffix(e.Payload.Email, ".atlantis"):
			return runtime.Permanent(fmt.Errorf("customer %s: no such country", e.ID))
		case c.down.Load():
			return runtime.Permanent(errors.New("dial tcp 10.0.0.7:443: connection refused"))
		}
		c.has <- e.Payload.Email
		return nil
	})
	c.bus.Start(ctx)
	for _, email := range emails {
		events.PublishUserRegistered(ctx, c.bus, events.UserRegistered{UserID: uuid.New(), Email: email})
	}
	c.bus.WaitIdle(ctx)
	return c
}

func (c *crm) close() {
	c.bus.Shutdown(context.Background())
	os.RemoveAll(filepath.Dir(c.path))
}

// What happened last night, in a few lines.
func ExampleFile_FailureGroups() {
	crm := newCRM("plato@academy.atlantis", "ada@example.org", "grace@example.org")
	defer crm.close()
	ctx := context.Background()

	inspector, err := inspect.Open(ctx, crm.path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer inspector.Close()

	groups, err := inspector.FailureGroups(ctx, event.Filter{Types: []string{"user.*"}})
	for _, g := range groups {
		fmt.Println(g.Count, g.Reason, g.Subscriptions, g.Message)
	}
	fmt.Println("error", err)
	// Output:
	// 2 permanent [crm] dial tcp <addr>: connection refused
	// 1 permanent [crm] customer <id>: no such country
	// error <nil>
}

// Retrying what failed for one cause, once that is gone: one letter first, and
// the others when it was handled.
func ExampleFile_Retry() {
	crm := newCRM("plato@academy.atlantis", "ada@example.org", "grace@example.org")
	defer crm.close()
	ctx := context.Background()
	inspector, _ := inspect.Open(ctx, crm.path)
	defer inspector.Close()

	crm.down.Store(false)
	counts, err := inspector.Retry(ctx, inspect.Selection{
		Filter: event.Filter{Text: "connection refused"},
		Canary: 1,
	})
	fmt.Printf("%+v %v\n", counts, err)
	fmt.Println("the CRM has", <-crm.has, "and", <-crm.has)

	_, err = inspector.Retry(ctx, inspect.Selection{Canary: 1}) // Plato's
	if canary, ok := errors.AsType[*inspect.CanaryError](err); ok {
		fmt.Println(len(canary.Failed), "of", canary.Retried, "died again")
	}
	// Output:
	// {Matched:2 Moved:2 Skipped:0} <nil>
	// the CRM has ada@example.org and grace@example.org
	// 1 of 1 died again
}

// Putting a payload right. The check of the generated catalogue sees to it that
// it becomes a valid event.
func ExampleFile_Edit() {
	crm := newCRM("plato@academy.atlantis")
	defer crm.close()
	ctx := context.Background()
	inspector, _ := inspect.Open(ctx, crm.path, inspect.WithEditing(events.Catalogue.Check), inspect.WithActor("ada"))
	defer inspector.Close()
	crm.down.Store(false)

	letters, _, _ := inspector.DeadLetters(ctx, event.Filter{}, event.Page{})
	letter := letters[0]
	_, err := inspector.Edit(ctx, letter.Key, []byte(`{"user_id": "`+letter.EventID.String()+`", "newsletter": "no", "preferences": {}}`))
	if invalid, ok := errors.AsType[*inspect.InvalidPayloadError](err); ok {
		fmt.Println(invalid.Err)
	}

	edited := strings.Replace(string(letter.Payload), "academy.atlantis", "academy.example.org", 1)
	_, err = inspector.Edit(ctx, letter.Key, []byte(edited))
	fmt.Println("error", err)
	fmt.Println("the CRM has", <-crm.has)
	entries, _, _ := inspector.Audit(ctx, event.AuditFilter{}, event.Page{})
	fmt.Println(entries[0].Actor, "did", entries[0].Action, entries[0].Count)
	// Output:
	// the payload is not a valid user.registered: newsletter: is a JSON string, which does not fit bool
	// error <nil>
	// the CRM has plato@academy.example.org
	// ada did edit 1
}
