package lint_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/lint"
)

// header makes a catalogue of the pieces in the examples of rules.
const header = "version: 1\npackage: p"

// found lints a catalogue that has no findings of the reader's.
func found(t *testing.T, source string) diag.Findings {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte(source))
	if findings != nil {
		t.Fatalf("%v\n%s", findings, source)
	}
	all, err := lint.Run(c, func(string) ([]byte, error) { return []byte(source), nil })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lines are findings as people read them, with their severity.
func lines(all diag.Findings) []string {
	var texts []string
	for _, f := range all {
		texts = append(texts, f.String())
	}
	return texts
}

func ofRule(all diag.Findings, id string) diag.Findings {
	return slices.DeleteFunc(slices.Clone(all), func(f *diag.Finding) bool { return f.Rule.ID != id })
}

// switchedOn makes a rule report even if it is off by itself.
func switchedOn(id string) string { return "\nlint: { " + id + ": error }" }

func TestEachRuleReportsItsBadExampleAndNotTheGoodOne(t *testing.T) {
	for _, rule := range lint.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			bad := ofRule(found(t, header+switchedOn(rule.ID)+rule.Bad), rule.ID)
			if len(bad) == 0 {
				t.Error("the bad example is not reported")
			}
			for _, f := range bad {
				if f.Severity != diag.Error || f.Hint == "" || f.Subject == "" || f.Line == "" || f.Pos.Column+f.Length-1 > len(f.Line) {
					t.Errorf("incomplete: %+v", f)
				}
			}
			if good := ofRule(found(t, header+switchedOn(rule.ID)+rule.Good), rule.ID); len(good) > 0 {
				t.Errorf("the good example is reported: %q", lines(good))
			}
		})
	}
}

// Package rules and this one have the same rules, in the same order.
func TestTheReaderOfCataloguesKnowsTheRules(t *testing.T) {
	var own []*diag.Rule
	for _, rule := range lint.Rules() {
		own = append(own, rule.Rule)
	}
	if diff := cmp.Diff(rules.IDs(rules.Of(diag.Lint)), rules.IDs(own)); diff != "" {
		t.Errorf("rules (-package rules +lint):\n%s", diff)
	}
}

const twoEvents = `version: 1
package: p
events:
  ui.clicked: {}
  order.placed: {}
`

func TestACatalogueChoosesTheSeverityOfARule(t *testing.T) {
	for word, want := range map[string]int{"off": 0, "note": 2, "warning": 2, "error": 2} {
		for _, form := range []string{"event-doc: " + word, "event-doc: { severity: " + word + " }"} {
			all := ofRule(found(t, twoEvents+"lint: { "+form+" }\n"), "event-doc")
			if len(all) != want || want > 0 && all[0].Severity.String() != word {
				t.Errorf("%s: %q", form, lines(all))
			}
		}
	}
}

func TestACatalogueExceptsEventsAndTypes(t *testing.T) {
	source := twoEvents + `types: { Size: { enum: [small] }, Unit: { enum: [kg] } }
lint:
  event-doc: { except: [ui.*] }
  unused-type: { except: [Size], severity: note }
  type-doc: { except: ["*"] }
`
	want := []string{
		`events.yaml:5:3: warning: event order.placed has no doc; add a doc that says what happened [event-doc]`,
		`events.yaml:6:35: note: no event uses type Unit; remove it, or use it [unused-type]`,
	}
	if diff := cmp.Diff(want, lines(found(t, source))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A policy is one mistake, however many events inherit it.
func TestInheritedSettingsAreReportedOnceAtTheirLine(t *testing.T) {
	source := `version: 1
package: p
defaults: { timeout: 5s }
policies:
  order.*: { slow_after: 7s }
lint: { event-doc: off }
events:
  order.placed: { subscriptions: { audit: { timeout: 6s }, mail: {} } }
  order.paid: {}
  order.sent: { slow_after: "10s" }
  user.changed: {}
`
	all := found(t, source)
	want := []string{
		`events.yaml:5:26: warning: slow_after 7s of event order.placed (and 2 more) is never reached: the timeout is 5s; make it shorter than the timeout, or write slow_after: off [slow-after-unreached]`,
		`events.yaml:5:26: warning: slow_after 7s of subscription audit of event order.placed is never reached: the timeout is 6s; make it shorter than the timeout, or write slow_after: off [slow-after-unreached]`,
		`events.yaml:10:29: warning: slow_after 10s of event order.sent is never reached: the timeout is 5s; make it shorter than the timeout, or write slow_after: off [slow-after-unreached]`,
	}
	if diff := cmp.Diff(want, lines(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last := all[len(all)-1]; last.Length != len(`"10s"`) || len(last.Related) != 1 || last.Related[0].Pos.Line != 3 {
		t.Errorf("the last one is %+v", last)
	}
}

func TestAnExceptedEventDoesNotCount(t *testing.T) {
	source := header + `
defaults: { retry: { jitter: 0 } }
lint: { event-doc: off, no-jitter: { except: [a.done, c.done] } }
events: { a.done: {}, b.done: {}, c.done: {} }`
	all := found(t, source)
	if len(all) != 1 || !strings.HasPrefix(all[0].Message, "event b.done is retried") {
		t.Errorf("got %q", lines(all))
	}
}

func TestTheExampleCatalogueIsClean(t *testing.T) {
	for _, path := range []string{"../../examples/events.yaml", "../../templates/starter/events.yaml"} {
		c, findings, err := parse.Load(path)
		if err != nil || findings != nil {
			t.Fatal(err, findings)
		}
		all, err := lint.Run(c, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "templates") { // where docs would be in the way
			all = slices.DeleteFunc(all, func(f *diag.Finding) bool { return f.Rule == rules.FieldDoc })
		}
		if len(all) > 0 {
			t.Errorf("%s", strings.Join(lines(all), "\n"))
		}
	}
}

func TestAFileThatCannotBeShownIsAnError(t *testing.T) {
	c, _ := parse.Text("events.yaml", []byte(twoEvents))
	gone := errors.New("gone")
	if _, err := lint.Run(c, func(string) ([]byte, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestFindingsOfTheReaderAreErrors(t *testing.T) {
	_, findings := parse.Text("events.yaml", []byte("version: 2\n"))
	if len(findings) == 0 || findings[0].Severity != diag.Error {
		t.Errorf("got %+v", findings)
	}
	if _, err := diag.ParseSeverity("grave"); err == nil || err.Error() != `there is no severity "grave": it is off, note, warning or error` {
		t.Errorf("got %v", err)
	}
}

func TestFindingsOfIncludedFilesFollowThoseOfTheRoot(t *testing.T) {
	texts := map[string][]byte{"a.yaml": []byte("version: 1\nevents: { a.done: {} }\n"), "b.yaml": []byte("version: 1\n\npackage: p\ninclude: [a.yaml]\nevents: { b.done: {} }\n")}
	c, findings := parse.TextWith(parse.Memory{Text: texts}, "b.yaml", texts["b.yaml"])
	if findings != nil {
		t.Fatal(findings)
	}
	all, err := lint.Run(c, func(file string) ([]byte, error) { return texts[file], nil })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		got = append(got, f.Pos.String()+" "+f.Line)
	}
	if diff := cmp.Diff([]string{"b.yaml:5:11 events: { b.done: {} }", "a.yaml:2:11 events: { a.done: {} }"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTypesOfACatalogueWithoutEventsAreForOthers(t *testing.T) {
	const text = "version: 1\npackage: p\ntypes: { Currency: { doc: A code., enum: [EUR, USD] } }\n"
	c, findings := parse.Text("events.yaml", []byte(text))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if found, err := lint.Run(c, func(string) ([]byte, error) { return []byte(text), nil }); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}

func TestATypeOfAnOldPayloadIsInUse(t *testing.T) {
	const text = `version: 1
package: p
types:
  Currency: { enum: [EUR, USD] }
events:
  order.placed: { version: 2, history: { 1: { payload: { currency: Currency } } } }
`
	c, findings := parse.Text("events.yaml", []byte(text))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	found, err := lint.Run(c, func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Rule == rules.UnusedType {
			t.Error(f)
		}
	}
}

// A field of a mixin is declared in one place, which is where findings are.
func TestAMixinIsInUseAndItsFieldsAreReportedOnce(t *testing.T) {
	got := lines(found(t, header+`
types:
  Audit: { doc: Audit., fields: { by: { type: string, doc: Who. }, amount: { type: float64, doc: Much. } } }
  Old: { doc: Old., fields: { x: { type: int, doc: X. } } }
events:
  order.placed: { doc: Yes., mixins: [Audit] }
  order.paid: { doc: Yes., version: 2, mixins: [Audit], history: { 1: { mixins: [Old] } } }
`))
	if len(got) != 1 || !strings.Contains(got[0], "field amount of type Audit looks like money") {
		t.Errorf("got %q", got)
	}
}
