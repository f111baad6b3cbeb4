package inspection

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/event"
)

func (env *Env) TestAFileWithWorkInEveryStateIsSound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Mixed(t)
		report, err := f.File.Check(t.Context(), nil)
		Must(t, err)
		if !report.OK() || report.Open != 3 || report.Dead != 1 {
			t.Errorf("the report is %+v, want 3 open deliveries and 1 dead one", report)
		}
	})
}

func (env *Env) TestPayloadsThatCannotBeDecodedAreCountedByType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Mixed(t)
		report, err := f.File.Check(t.Context(), func(e event.Unsettled) error {
			var o struct{ Number int }
			if e.Type != "order.placed" || json.Unmarshal(e.Payload, &o) != nil || o.Number < 4 {
				return errors.New("field number: too small")
			}
			return nil
		})
		Must(t, err)
		if report.OK() || len(report.Problems) != 0 || len(report.Undecodable) != 2 {
			t.Fatalf("the report is %+v", report)
		}
		order, user := report.Undecodable[0], report.Undecodable[1]
		if order.Type != "order.placed" || order.Open != 0 || order.Dead != 1 || len(order.Samples) != 1 || order.Samples[0].Error != "field number: too small" {
			t.Errorf("of the orders, the dead one was to be found: %+v", order)
		}
		if user.Type != "user.created" || user.Open != 1 || user.Dead != 0 {
			t.Errorf("of the users, the delayed one was to be found: %+v", user)
		}
	})
}
