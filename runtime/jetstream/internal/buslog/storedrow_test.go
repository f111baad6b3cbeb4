package buslog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// drawRow returns a row as package ledger makes them.
func drawRow(random *rand.Rand, now time.Time) *row {
	yes := func() bool { return random.IntN(2) == 0 }
	e := &engine.Record{
		Seq: 1, ID: uuid.UUID{1}, Type: "order.placed", Version: 2, Payload: []byte("{}"), Metadata: []byte("m"),
		CreatedAt: now.Add(-time.Hour), Key: "k", Keyed: yes(),
	}
	if random.IntN(4) == 0 {
		e.Due = now.Add(-time.Minute)
	}
	r := newRow(e)
	r.Failures, r.Uncounted, r.MaxAttempts, r.Snoozes, r.Redriven = random.IntN(3), random.IntN(3), random.IntN(3), random.IntN(3), random.IntN(3)
	for range random.IntN(3) {
		r.Attempts = append(r.Attempts, event.FailedAttempt{Kind: event.KindError, Error: "boom", Started: now, Ended: now})
	}
	r.Tries, r.History = len(r.Attempts), random.IntN(len(r.Attempts)+1)
	r.PutOff, r.Retried, r.Replayed = yes(), yes(), yes()
	if r.Made = random.IntN(4) == 0; r.Made {
		r.Delayed = true
	}
	if r.Together = random.IntN(4); r.Suspect() {
		if r.Crashed = yes(); yes() {
			r.OpenCrash = now.Add(-time.Minute)
			r.Crashes = []event.SharedCrash{{At: r.OpenCrash}}
		}
	}
	if yes() {
		r.Progress = `["a"]`
	}
	if yes() {
		r.Audits = []int64{7}
	}
	r.Due, r.Set = now.Add(time.Minute), now.Add(-time.Minute)
	end := func(s ledger.State, reason string) {
		r.State, r.Reason, r.Due, r.Set, r.Ended = s, reason, time.Time{}, time.Time{}, now
	}
	switch r.State = ledger.State(random.IntN(5)); {
	case r.State == ledger.Held && yes():
		r.Due, r.Set = time.Time{}, time.Time{}
		if yes() {
			r.Waitlist, r.Delivery.Key = "limit a", "key b"
		}
	case r.State == ledger.Held:
		r.HeldSince = now.Add(-time.Hour)
	case r.State == ledger.Waiting && random.IntN(4) == 0:
		r.Waitlist = "limit a"
	case r.State == ledger.Waiting && yes():
		r.Row, r.Answer = r.Cancel("why"), refused
	case r.State == ledger.Dead:
		if end(r.State, event.ReasonMaxAttempts); r.Suspect() {
			r.Reason = event.ReasonCrash
		}
		if r.Fingerprint = "f"; yes() {
			r.Row = r.Discard("why", now)
		}
	case r.State == ledger.Discarded:
		end(r.State, "why")
	case r.State == ledger.Done:
		end(r.State, "")
	}
	return r
}

func TestARowIsOnTheStreamAsItIsInMemory(t *testing.T) {
	now := time.Now().UTC().Round(0)
	for seed := range uint64(5_000) {
		r := drawRow(rand.New(rand.NewPCG(seed, 1)), now)
		data := r.encode()
		again, err := decodeRow(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again, cmp.AllowUnexported(row{})); diff != "" {
			t.Fatalf("seed %d: a row is read that was not written (-written +read):\n%s", seed, diff)
		}
		if text := again.encode(); string(text) != string(data) {
			t.Fatalf("seed %d: a row is\n%s\nand is written again as\n%s", seed, data, text)
		}
	}
}

// Programs of the tree before write rows that say more, or less.
func TestRowsOfOlderProgramsAreRead(t *testing.T) {
	row := func(fields string) string {
		return `{"seq":1,"id":"01000000-0000-0000-0000-000000000000","type":"a","version":1,"created_at":"2026-01-01T00:00:00Z","since":"2026-01-01T00:00:00Z",` + fields + `}`
	}
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	since := ledger.Delivery{Since: at.Add(-24 * time.Hour)}
	suspect := since
	suspect.Together = 1
	crashed := suspect
	crashed.Crashed = true
	for what, test := range map[string]struct {
		fields string
		want   ledger.Row
	}{
		"a suspect that runs alone":                        {`"state":"waiting","suspect":true`, ledger.Row{Delivery: suspect}},
		"what is due at once, and was put off before":      {`"state":"waiting","set":"2026-01-02T00:00:00Z"`, ledger.Row{Delivery: since}},
		"what waits, and was held for its version":         {`"state":"waiting","held":"2026-01-02T00:00:00Z"`, ledger.Row{Delivery: since}},
		"what is cancelled, and waited":                    {`"state":"waiting","cancelled":true,"reason":"no","was":{"state":"waiting","due":"2026-01-02T00:00:00Z"}`, ledger.Row{Delivery: since, Cancelled: true, Reason: "no"}},
		"what was discarded, and waited":                   {`"state":"discarded","due":"2026-01-02T00:00:00Z","reason":"no","died":"2026-01-02T00:00:00Z","was":{"state":"waiting"}`, ledger.Row{Delivery: since, State: ledger.Discarded, Reason: "no", Ended: at}},
		"a dead letter that was discarded":                 {`"state":"discarded","reason":"no","fingerprint":"f","died":"2026-01-02T00:00:00Z","was":{"state":"dead","reason":"permanent","died":"2026-01-02T00:00:00Z"}`, ledger.Row{Delivery: since, State: ledger.Discarded, Reason: "no", Ended: at, Was: &ledger.Death{Reason: "permanent", Fingerprint: "f", At: at}}},
		"an imported dead letter that has died of a crash": {`"state":"dead","reason":"crash","crashed":true,"died":"2026-01-02T00:00:00Z"`, ledger.Row{Delivery: crashed, State: ledger.Dead, Reason: "crash", Ended: at}},
		"what is handled":                                  {`"state":"done"`, ledger.Row{Delivery: since, State: ledger.Done}},
	} {
		r, err := decodeRow([]byte(row(test.fields)))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if diff := cmp.Diff(test.want, r.Row); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if r, err := decodeRow([]byte(row(`"state":"gone"`))); err != nil || !r.gone || r.State.Open() {
		t.Errorf("a row that is gone is %+v, %v", r, err)
	}
	for _, state := range []string{"", "lost"} {
		if _, err := decodeRow([]byte(row(fmt.Sprintf(`"state":%q`, state)))); err == nil || !strings.Contains(err.Error(), "no state") {
			t.Errorf("a row of the state %q is read: %v", state, err)
		}
	}
}
