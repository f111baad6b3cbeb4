package buslog

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

func TestACheckFindsRecordsThatContradictOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		adding, err := in.ImportDeadLetters()
		must(t, err)
		letter := event.DeadLetter{
			Key: event.Key{EventID: uuid.New(), Subscription: "worker"}, Type: "job.queued", Version: 1, Payload: []byte(`{"n":1}`),
			PublishedAt: time.Now(), DeadAt: time.Now(), Reason: "permanent", Fingerprint: "f", Failures: 1,
		}
		_, _, err = adding.Add(ctx, []event.DeadLetter{letter})
		must(t, err)
		if found, err := in.Check(ctx); len(found) > 0 || err != nil {
			t.Errorf("of a log that is sound it says %+v, %v", found, err)
		}
		must(t, in.edit(ctx, func() ([]*stream.Msg, error) {
			s := in.inOrder()[0]
			r := &row{rowEvent: rowEvent{Seq: 1, ID: letter.EventID}, Row: ledger.Row{State: ledger.Dead}}
			return []*stream.Msg{in.rowMsg(s.ID, r, 0), in.cursorMsg(s, whole, &cursor{N: 1, Next: 1000}, s.parts[whole].rev)}, nil
		}))
		found, err := in.Check(ctx)
		must(t, err)
		var rules []string
		for _, p := range found {
			rules = append(rules, p.Rule)
		}
		if len(rules) != 3 || rules[0] != "cursor" || rules[1] != "reference" || rules[2] != "state" {
			t.Errorf("found %+v", found)
		}
	})
}
