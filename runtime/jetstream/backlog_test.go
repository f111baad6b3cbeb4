//go:build unix

package jetstream_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"strconv"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

func TestABacklogIsTheSameAfterAMove(t *testing.T) {
	path := fillFile(t, fileSize{events: 200, retries: 10, dead: 5, subscriptions: 5})
	target := "nats://" + servertest.Listen(t) + "/shop"
	status := func(target string, opts ...inspect.Option) map[string]event.SubscriptionState {
		in, err := inspect.Open(t.Context(), target, opts...)
		conformance.Must(t, err)
		defer in.Close()
		s, err := in.Status(t.Context())
		conformance.Must(t, err)
		all := map[string]event.SubscriptionState{}
		for _, one := range s.Subscriptions {
			all[one.Name] = one
		}
		return all
	}
	before, behind := status(path), 0
	_, err := jetstream.Move(t.Context(), path, target, nil)
	conformance.Must(t, err)
	for _, one := range before {
		behind = max(behind, one.Backlog)
	}
	for name, one := range status(target, jetstream.Inspect()) {
		if had := before[name]; one.Backlog != had.Backlog || one.Waiting != had.Waiting || one.Dead != had.Dead {
			t.Errorf("%s has a backlog of %d, %d waiting and %d dead, and had %d, %d and %d", name, one.Backlog, one.Waiting, one.Dead, had.Backlog, had.Waiting, had.Dead)
		}
	}
	// The log of the first start counts events, not the records of the move.
	var log bytes.Buffer
	bus, err := runtime.Open(t.Context(), target, conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), jetstream.Engine())
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	conformance.Must(t, bus.Shutdown(t.Context()))
	said, found := 0, regexp.MustCompile(`"event bus started" interrupted=0 waiting=110 dead=5 backlog=(\d+)`).FindStringSubmatch(log.String())
	if found != nil {
		said, _ = strconv.Atoi(found[1])
	}
	if said == 0 || said > behind {
		t.Errorf("the backlog is %d, want %d at most, for some events are retried only:\n%s", said, behind, log.String())
	}
}
