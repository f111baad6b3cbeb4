package buslog

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// eventsOfAllKinds returns events that differ in what their headers say.
func eventsOfAllKinds() []engine.Record {
	at := time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.UTC)
	all := []engine.Record{
		{Version: 1},
		{Version: 3, Metadata: []byte(`{"a":"b"}`)},
		{Version: 1, Key: "k", Keyed: true},
		{Version: 1, Keyed: true, Due: at.Add(time.Hour)},
	}
	for i := range all {
		all[i].ID, all[i].Type, all[i].Payload, all[i].CreatedAt = uuid.Must(uuid.NewV7()), "job.made", []byte(`{}`), at.Add(time.Duration(i/2))
	}
	return all
}

// A program that is older finds the id and the version of an event in headers of their own. A log
// that it has made keeps them.
func TestAnEventLacksTheHeadersThatOthersMakeNeedlessOnlyInALogThatOlderProgramsRefuse(t *testing.T) {
	for name, version := range map[string]int{"a new log": format, "a log of format 1": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, ctx := openEmpty(t), context.Background()
				if version != format {
					must(t, in.change(ctx, func(r *registry) error { r.Format = version; return nil }))
				}
				must(t, in.DeclareConsumers(ctx, []engine.ConsumerSpec{{Name: "other", Pattern: "job.*"}})) // which stores the registry again
				all := eventsOfAllKinds()
				must(t, in.Append(ctx, all))
				for i := range all {
					m, err := in.stream.GetKnown(ctx, all[i].Seq, all[i].Seq)
					must(t, err)
					_, id := m.Header[idHeader]
					_, versioned := m.Header[versionHeader]
					if old := version == 1; id != old || versioned != (old || all[i].Version > 1) {
						t.Errorf("event %d has the headers %v", i, m.Header)
					}
				}
			})
		})
	}
}

// Events of both forms are in one log: those that older programs have made, and those of a move, in
// a stream of any format.
func TestEventsWithAndWithoutTheHeadersAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		for _, terse := range []bool{false, true} {
			in.terse.Store(terse)
			all := append(eventsOfAllKinds(), eventsOfAllKinds()[0])
			must(t, in.Append(ctx, all[:4]))
			made := &all[4]
			made.Origin = &engine.Origin{Consumer: "worker", Parent: all[0].ID}
			seq, _, err := in.stream.Append(ctx, in.eventMsg(made))
			must(t, err)
			made.Seq = seq
			for i := range all {
				m, err := in.stream.GetKnown(ctx, all[i].Seq, all[i].Seq)
				must(t, err)
				got, err := eventOf(m)
				must(t, err)
				if !reflect.DeepEqual(*got, all[i]) {
					t.Errorf("without needless headers %t, event %d is read as\n%+v, want\n%+v", terse, i, *got, all[i])
				}
			}
		}
	})
}

// Publishers of other programs may give their messages ids.
func TestAMessageWhoseIDIsNoneOfAnEventIsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		m := in.eventMsg(&eventsOfAllKinds()[0])
		m.ID = "a-7"
		seq, _, err := in.stream.Append(ctx, m)
		must(t, err)
		stored, err := in.stream.GetKnown(ctx, seq, seq)
		must(t, err)
		if _, err := eventOf(stored); err == nil || !strings.Contains(err.Error(), "is no event") {
			t.Errorf("it is an event (%v)", err)
		}
	})
}
