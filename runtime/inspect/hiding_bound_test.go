package inspect

import (
	"context"
	"slices"
	"testing"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// largeLog is a log with a sensitive field and open breakers. It notes how many events are looked through.
type largeLog struct {
	engine.Inspection
	looked []int
}

func (*largeLog) Declared(context.Context) (engine.Declared, error) {
	return engine.Declared{Names: event.Names{Types: []string{"user.registered"}}}, nil
}

func (*largeLog) Schema(context.Context, string) (event.Schema, error) {
	return event.Schema{Version: 1, Text: `{"event":"user.registered","version":1,"payload":{"email":{"type":"string","sensitive":true}}}`}, nil
}

func (*largeLog) Status(context.Context, int, event.Status) (event.Status, error) {
	return event.Status{Breakers: []event.Breaker{
		{Subscription: "greeter", LastError: "no mailbox 4711"}, {Subscription: "mailer", LastError: "no mailbox for [hidden]"}, {Subscription: "new"},
	}}, nil
}

func (l *largeLog) Events(_ context.Context, _ engine.Filter, _ event.Page, most int) (event.EventSearch, error) {
	l.looked = append(l.looked, most)
	return event.EventSearch{}, nil
}

func TestTheStatusLooksThroughABoundedPartOfTheLogForTheErrorsOfBreakers(t *testing.T) {
	log := &largeLog{}
	file := (&File{log: log}).Hiding()
	status, err := file.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, b := range status.Breakers {
		shown = append(shown, b.LastError)
	}
	if want := []string{"no mailbox <n>", "no mailbox for [hidden]", ""}; !slices.Equal(shown, want) {
		t.Errorf("the errors are %q, want %q", shown, want)
	}
	if !slices.Equal(log.looked, []int{breakerEvents}) {
		t.Errorf("it has looked through %v events", log.looked)
	}
}
