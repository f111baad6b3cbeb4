package parse_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
)

// A layer is what one place of a catalogue sets; nil is what it leaves out.
// Zero is among the values on purpose: to set it is not the same.
type layer struct {
	attempts, jitter, timeout *int
}

func drawLayer(t *rapid.T, label string) layer {
	maybe := func(field string, lo, hi int) *int {
		return rapid.Ptr(rapid.IntRange(lo, hi), true).Draw(t, label+" "+field)
	}
	return layer{maybe("max_attempts", 1, 9), maybe("jitter", 0, 5), maybe("timeout", 1, 9)}
}

func (l layer) yaml() string {
	var settings, retry []string
	if l.attempts != nil {
		retry = append(retry, fmt.Sprintf("max_attempts: %d", *l.attempts))
	}
	if l.jitter != nil {
		retry = append(retry, fmt.Sprintf("jitter: 0.%d", *l.jitter))
	}
	settings = append(settings, "retry: { "+strings.Join(retry, ", ")+" }")
	if l.timeout != nil {
		settings = append(settings, fmt.Sprintf("timeout: %ds", *l.timeout))
	}
	return "{ " + strings.Join(settings, ", ") + " }"
}

// lastSet returns the last value that is set, or the built-in one.
func lastSet(builtin int, layers []layer, field func(layer) *int) int {
	for _, l := range layers {
		if v := field(l); v != nil {
			builtin = *v
		}
	}
	return builtin
}

func TestEachFieldIsInheritedFromTheMostSpecificPlaceThatSetsIt(t *testing.T) {
	// From the least to the most specific; `defaults` is the first.
	places := []string{"defaults", `"*"`, "ml.*", "ml.run.*", "ml.run.started", "event", "subscription"}
	rapid.Check(t, func(t *rapid.T) {
		layers := make([]layer, len(places))
		for i, place := range places {
			layers[i] = drawLayer(t, place)
		}
		var source strings.Builder
		fmt.Fprintf(&source, "version: 1\npackage: events\ndefaults: %s\npolicies:\n", layers[0].yaml())
		for _, i := range rapid.Permutation([]int{1, 2, 3, 4}).Draw(t, "order of the policies") {
			fmt.Fprintf(&source, "  %s: %s\n", places[i], layers[i].yaml())
		}
		event := strings.TrimSuffix(layers[5].yaml(), " }")
		fmt.Fprintf(&source, "events:\n  ml.run.started: %s, subscriptions: { own: %s, none: {} } }\n  order.placed: {}\n", event, layers[6].yaml())

		c, findings := parse.Text("events.yaml", []byte(source.String()))
		if len(findings) > 0 {
			t.Fatalf("%v in\n%s", findings, source.String())
		}
		check := func(what string, s catalog.Settings, layers []layer) {
			if want := lastSet(4, layers, func(l layer) *int { return l.attempts }); s.MaxAttempts.V != want {
				t.Errorf("max_attempts of %s is %d, want %d", what, s.MaxAttempts.V, want)
			}
			if want := float64(lastSet(1, layers, func(l layer) *int { return l.jitter })) / 10; s.Jitter.V != want {
				t.Errorf("jitter of %s is %v, want %v", what, s.Jitter.V, want)
			}
			want := time.Duration(lastSet(30, layers, func(l layer) *int { return l.timeout })) * time.Second
			if s.Timeout.V != want {
				t.Errorf("timeout of %s is %v, want %v", what, s.Timeout.V, want)
			}
		}
		started, placed := c.Events[0], c.Events[1]
		check("the event", started.Settings, layers[:6])
		check("the subscription", started.Subscriptions[0].Settings, layers)
		check("a subscription without settings", started.Subscriptions[1].Settings, layers[:6])
		check("an event that no policy matches but *", placed.Settings, layers[:2])
	})
}

func FuzzCatalogue(f *testing.F) {
	f.Add(shop)
	f.Add(subscribed)
	f.Add(steered)
	for _, seed := range []string{"", "\t", "a: *b", "? [a]\n: b", "--- |\n x\n...\n---\n", "events: {a: {payload: {\"x\\u2028\": '[]a?'}}}", "%YAML 1.1\n---\n", "a:\r\nb\u2028c: d\n"} {
		f.Add(seed)
	}
	for _, path := range cases(f) {
		source, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	f.Fuzz(func(t *testing.T, source string) {
		c, findings := parse.Text("fuzz.yaml", []byte(source))
		if (c == nil) != (len(findings) > 0) {
			t.Fatalf("got catalogue %v with %d findings", c, len(findings))
		}
		lines := strings.Split(yamlLineEnds.Replace(strings.TrimPrefix(source, "\uFEFF")), "\n")
		seen := map[string]bool{}
		for _, finding := range findings {
			checkInside(t, finding.Place, lines)
			for _, related := range finding.Related {
				checkInside(t, related.Place, lines)
			}
			if text := finding.String(); seen[text] {
				t.Errorf("found twice: %s", text)
			} else {
				seen[text] = true
			}
			if !utf8.ValidString(finding.String()) || strings.ContainsAny(finding.String(), "\n\x1b") {
				t.Errorf("a finding repeats raw input: %q", finding.String())
			}
		}
		if c == nil {
			return
		}
		for _, e := range c.Events {
			checkSettings(t, "event "+e.Name.V, e.Settings)
			for _, s := range e.Subscriptions {
				checkSettings(t, "subscription "+s.Name.V, s.Settings)
			}
		}
	})
}

// checkSettings fails if the runtime would refuse the settings.
func checkSettings(t *testing.T, what string, s catalog.Settings) {
	t.Helper()
	for _, err := range []error{s.Policy().Validate(), s.Breaker.Policy().Validate()} {
		if err != nil {
			t.Errorf("%s has a policy that the runtime refuses: %v", what, err)
		}
	}
	for _, rule := range s.Errors {
		if err := s.Policy().With(rule.Retry.Options()...).Validate(); err != nil {
			t.Errorf("error class %s of %s has a policy that the runtime refuses: %v", rule.Class.V, what, err)
		}
	}
}

var yamlLineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

func checkInside(t *testing.T, p diag.Place, lines []string) {
	t.Helper()
	if p.Pos.Line < 1 || p.Pos.Line > len(lines) {
		t.Fatalf("line %d is not in a file of %d lines", p.Pos.Line, len(lines))
	}
	line := lines[p.Pos.Line-1]
	isCatalogue := strings.Contains(strings.Join(lines, ""), "version") // it is likely to be
	switch {
	case p.Line == "" && !isCatalogue:
	case p.Line == "" && p.Length == 1: // it may not be one
	case p.Line != line:
		t.Errorf("line %d is shown as %q, but reads %q", p.Pos.Line, p.Line, line)
	case !isCatalogue:
		t.Errorf("line %d of what is no catalogue is shown: %q", p.Pos.Line, p.Line)
	}
	width := utf8.RuneCountInString(line)
	if p.Pos.Column < 1 || p.Pos.Column > width+1 || p.Length < 1 || p.Pos.Column+p.Length-1 > max(width, p.Pos.Column) {
		t.Errorf("column %d, length %d is not in a line of %d characters", p.Pos.Column, p.Length, width)
	}
}

// An included file is as hostile as any. Its findings are in its own lines.
func FuzzIncludedFile(f *testing.F) {
	for _, seed := range []string{"version: 1\ntypes: { T: { fields: { x: U } } }\n", "a: *b", "version: 1\ninclude: [other.yaml, \"*\", events.yaml]\n", "version: 1\nevents: { a.done: {} }\n", "\n\n[", ""} {
		f.Add(seed)
	}
	const root = "version: 1\npackage: p\ninclude: [other.yaml]\npolicies: { a.*: { timeout: 5s } }\nevents:\n  a.done: { payload: { x: \"T?\" } }\n"
	f.Fuzz(func(t *testing.T, other string) {
		c, findings := parse.TextWith(parse.Memory{Text: map[string][]byte{"other.yaml": []byte(other)}}, "events.yaml", []byte(root))
		if (c == nil) != (len(findings) > 0) {
			t.Fatalf("got catalogue %v with %d findings", c, len(findings))
		}
		lines := map[string][]string{
			"events.yaml": strings.Split(root, "\n"),
			"other.yaml":  strings.Split(yamlLineEnds.Replace(strings.TrimPrefix(other, "\uFEFF")), "\n"),
		}
		for _, finding := range findings {
			checkInside(t, finding.Place, lines[finding.Pos.File])
			for _, related := range finding.Related {
				checkInside(t, related.Place, lines[related.Pos.File])
			}
		}
	})
}
