package buslog

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
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

// Programs in other languages read events by these headers, whoever has published them and how.
func TestEveryEventHasItsIDVersionTimeAndContentTypeInTheSameHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		must(t, in.Declare(ctx, nil, []engine.ConsumerSpec{{Name: "other", Pattern: "job.*"}})) // which stores the registry again
		all := append(eventsOfAllKinds(), eventsOfAllKinds()[:2]...)
		must(t, in.Append(ctx, all[:1]))
		must(t, in.Append(ctx, all[1:4]))
		for i := range all[4:] { // by an operator
			all[4+i].Origin = &engine.Origin{Consumer: "worker"}
		}
		made, err := in.makeEvents(ctx, []*engine.Record{&all[4], &all[5]})
		must(t, err)
		all[4], all[5] = *made[0], *made[1]
		for i := range all {
			m, err := in.stream.GetKnown(ctx, all[i].Seq, all[i].Seq)
			must(t, err)
			want := map[string]string{
				serverIDHeader: all[i].ID.String(), typeHeader: all[i].Type, versionHeader: strconv.Itoa(all[i].Version),
				createdHeader: timeText(all[i].CreatedAt), contentHeader: "application/json",
			}
			for header, value := range want {
				if got := m.Header[header]; len(got) != 1 || got[0] != value {
					t.Errorf("event %d has %s: %q, want %q", i, header, got, value)
				}
			}
			if _, twice := m.Header[idHeader]; twice {
				t.Errorf("event %d has its id twice: %v", i, m.Header)
			}
		}
	})
}

// The header of the key is a text of JSON, because every language reads that.
func TestTheKeyOfAnEventIsATextOfJSON(t *testing.T) {
	for _, key := range []string{"", "k", "a\x01\b\v\x7f\u00a0\u2028<é>", "\U0001f600", `"\`, "\xff"} {
		text, read := keyText(key), ""
		if err := json.Unmarshal([]byte(text), &read); (err != nil || read != key) && utf8.ValidString(key) {
			t.Errorf("%q is written as %s, which JSON reads as %q (%v)", key, text, read, err)
		}
		if strings.ContainsAny(text, "\r\n") {
			t.Errorf("%q is no header", text)
		}
		if own, err := strconv.Unquote(text); err != nil || own != key {
			t.Errorf("%q is written as %s, which is read as %q (%v)", key, text, own, err)
		}
	}
}

// Older programs have put the id of what operators make into a header of its own.
func TestEventsWithAndWithoutAHeaderOfTheirIDAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		all := append(eventsOfAllKinds(), eventsOfAllKinds()[0], eventsOfAllKinds()[0])
		must(t, in.Append(ctx, all[:4]))
		for i := range all[4:] {
			made := &all[4+i]
			made.ID, made.Origin = uuid.New(), &engine.Origin{Consumer: "worker", Parent: all[0].ID}
			msg := in.eventMsg(made)
			if i > 0 {
				msg.Header, msg.ID = append(msg.Header, stream.Header{Name: idHeader, Value: msg.ID}), ""
			}
			seq, _, err := in.stream.Append(ctx, msg)
			must(t, err)
			made.Seq = seq
		}
		for i := range all {
			m, err := in.stream.GetKnown(ctx, all[i].Seq, all[i].Seq)
			must(t, err)
			got, err := eventOf(m)
			must(t, err)
			if !reflect.DeepEqual(*got, all[i]) {
				t.Errorf("event %d is read as\n%+v, want\n%+v", i, *got, all[i])
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
