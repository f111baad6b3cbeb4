package inspect_test

import (
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/internal/apptables"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// One table of the program has rows that refer to nothing, another a name that looks like a
// number, and others need what only the program has.
func TestACheckLeavesTheReferencesOfTheProgramToTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Publish(1, 2)
		apptables.Make(t, f.Path)
		query(t, f.Path, `CREATE TABLE "100" (a UNIQUE)`)
		report, err := f.File.Check(t.Context(), nil)
		Must(t, err)
		if !report.OK() {
			t.Errorf("the report is %+v", report)
		}
	})
}

func TestACheckSaysWhoseRowsAreWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fail)
		f.MustStart()
		f.Publish(1, 2)
		f.Stop()
		apptables.Make(t, f.Path)
		apptables.Damage(t, f.Path)
		report, err := f.File.Check(t.Context(), nil)
		Must(t, err)
		if len(report.Problems) != 1 || report.Problems[0].Rule != "program" || report.Problems[0].Count != 100 || report.Dead != 2 {
			t.Errorf("the report is %+v", report)
		}
		for _, sample := range report.Problems[0].Samples {
			if sample != "NULL value in loose.v" {
				t.Errorf("a sample is %q", sample)
			}
		}

		// What is wrong with the bus is not hidden behind what is wrong with the program.
		query(t, f.Path, "UPDATE busgen_subscriptions SET cursor = 99")
		report, err = f.File.Check(t.Context(), nil)
		Must(t, err)
		if len(report.Problems) != 2 || report.Problems[1].Rule != "cursor" {
			t.Errorf("the report is %+v", report)
		}
	})
}
