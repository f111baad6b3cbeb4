package inspect_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/inspect"
)

func TestAFileWithWorkInEveryStateIsSound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := mixed(t)
		report, err := f.file.Check(t.Context(), nil)
		must(t, err)
		if !report.OK() || report.Open != 3 || report.Dead != 1 {
			t.Errorf("the report is %+v, want 3 open deliveries and 1 dead one", report)
		}
	})
}

func TestWhatMustNotBeInAFileIsFound(t *testing.T) {
	for rule, sql := range map[string]string{
		"reference": "DELETE FROM log WHERE seq IN (SELECT seq FROM deliveries)",
		"cursor":    "UPDATE subscriptions SET cursor = 99",
		"above":     "UPDATE subscriptions SET cursor = 0",
		"state":     "UPDATE deliveries SET reason = NULL",
		"route":     "DELETE FROM routes WHERE type = (SELECT id FROM types WHERE name = 'order.placed')",
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t)
				f.subscribe("printer", fail)
				f.start()
				f.publish(1, 2)
				f.stop()
				query(t, f.path, sql)
				report, err := f.file.Check(t.Context(), nil)
				must(t, err)
				if report.OK() || len(report.Problems) == 0 {
					t.Fatal("nothing was found")
				}
				for _, p := range report.Problems {
					if p.Rule == rule && p.Count > 0 && len(p.Samples) > 0 && p.Samples[0] != "" {
						return
					}
				}
				t.Errorf("found %+v", report.Problems)
			})
		})
	}
}

func TestDamagedPagesAreFound(t *testing.T) {
	f := open(t)
	var numbers [300]int
	for i := range numbers {
		numbers[i] = i
	}
	synctest.Test(t, func(t *testing.T) {
		f := reopen(t, f.path)
		f.publish(numbers[:]...)
		f.stop()
	})
	f.stop()
	must(t, f.file.Close())
	query(t, f.path, "PRAGMA wal_checkpoint(TRUNCATE)")
	content, err := os.ReadFile(f.path)
	must(t, err)
	// The ids of the index no longer agree with those of the log.
	at := strings.LastIndex(string(content), `{"number":150}`)
	for i := at - 40; i < at; i++ {
		content[i] ^= 0x55
	}
	must(t, os.WriteFile(f.path, content, 0o600))
	report, err := outside(t, f.path).Check(t.Context(), nil)
	must(t, err)
	if len(report.Problems) != 1 || report.Problems[0].Rule != "integrity" {
		t.Errorf("the report is %+v", report)
	}
}

func TestPayloadsThatCannotBeDecodedAreCountedByType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := mixed(t)
		report, err := f.file.Check(t.Context(), func(e inspect.Unsettled) error {
			var o struct{ Number int }
			if e.Type != "order.placed" || json.Unmarshal(e.Payload, &o) != nil || o.Number < 4 {
				return errors.New("field number: too small")
			}
			return nil
		})
		must(t, err)
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

func TestWithoutACheckAPayloadMustBeJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.subscribe("printer", fine)
		f.publish(1, 2, 3, 4, 5)
		query(t, f.path, "UPDATE log SET payload = '{' WHERE seq > 1")
		report, err := f.file.Check(t.Context(), nil)
		must(t, err)
		if len(report.Undecodable) != 1 || report.Undecodable[0].Open != 4 || len(report.Undecodable[0].Samples) != 3 || report.Open != 5 {
			t.Errorf("the report is %+v", report)
		}
	})
}
