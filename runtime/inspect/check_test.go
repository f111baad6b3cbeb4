package inspect_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/internal/short"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestInvalidContentOfAFileIsFound(t *testing.T) {
	short.Visit(t, "it fills files")
	for rule, sql := range map[string]string{
		"reference": "DELETE FROM busgen_log WHERE seq IN (SELECT seq FROM busgen_deliveries)",
		"cursor":    "UPDATE busgen_subscriptions SET cursor = 99",
		"above":     "UPDATE busgen_subscriptions SET cursor = 0",
		"state":     "UPDATE busgen_deliveries SET reason = NULL",
		"route":     "DELETE FROM busgen_routes WHERE type = (SELECT id FROM busgen_types WHERE name = 'order.placed')",
		"foreign":   "CREATE TABLE note (event INTEGER REFERENCES busgen_log)",
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := SQLite.Open(t)
				f.Subscribe("printer", Fail)
				f.MustStart()
				f.Publish(1, 2)
				f.Stop()
				query(t, f.Path, sql)
				report, err := f.File.Check(t.Context(), nil)
				Must(t, err)
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
	f := SQLite.Open(t)
	var numbers [300]int
	for i := range numbers {
		numbers[i] = i
	}
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Reopen(t, f.Path)
		f.Publish(numbers[:]...)
		f.Stop()
	})
	f.Stop()
	Must(t, f.File.Close())
	query(t, f.Path, "PRAGMA wal_checkpoint(TRUNCATE)")
	content, err := os.ReadFile(f.Path)
	Must(t, err)
	// The ids of the index no longer agree with those of the log.
	at := strings.LastIndex(string(content), `{"number":150}`)
	for i := at - 40; i < at; i++ {
		content[i] ^= 0x55
	}
	Must(t, os.WriteFile(f.Path, content, 0o600))
	report, err := SQLite.Outside(t, f.Path).Check(t.Context(), nil)
	Must(t, err)
	if len(report.Problems) != 1 || report.Problems[0].Rule != "integrity" {
		t.Errorf("the report is %+v", report)
	}
}

func TestWithoutACheckAPayloadMustBeJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		f.Publish(1, 2, 3, 4, 5)
		query(t, f.Path, "UPDATE busgen_log SET payload = '{' WHERE seq > 1")
		report, err := f.File.Check(t.Context(), nil)
		Must(t, err)
		if len(report.Undecodable) != 1 || report.Undecodable[0].Open != 4 || len(report.Undecodable[0].Samples) != 3 || report.Open != 5 {
			t.Errorf("the report is %+v", report)
		}
	})
}
