package text_test

import (
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
)

func TestTheHintIsAboutTheValueThatYAMLStumblesOver(t *testing.T) {
	const follows = "nothing can follow a closing quote: put all of the value into the quotes"
	const comma = "a string with a comma in it needs quotes inside { }"
	for line, want := range map[string]string{
		`{ payload: { w: W?, m: "map[string]int" } }`:          `W? needs quotes inside { }: "W?"`,
		`{ payload: { m: "map[string]int", w: W? } }`:          `W? needs quotes inside { }: "W?"`,
		`{ payload: { m: 'map[string]int', w: shared.Money?}}`: `shared.Money? needs quotes inside { }: "shared.Money?"`,
		`{ payload: { w: W? } } # not map[string]int`:          `W? needs quotes inside { }: "W?"`,
		`{ payload: { m: map[string]int, w: W? } }`:            `map[string]int needs quotes inside { }: "map[string]int"`,
		`{ payload: { "m": map[string]int? } }`:                `map[string]int? needs quotes inside { }: "map[string]int?"`,
		`{ payload: { w: []W, m: "map[string]int" } }`:         `[]W needs quotes: "[]W"`,
		`[]W`: `[]W needs quotes: "[]W"`,
		`{ payload: { w: { type: {}?, fields: {} } } }`:                         `{}? needs quotes inside { }: "{}?"`,
		`{ payload: { w: "map[string]int"? } }`:                                 follows,
		`"x" y`:                                                                 follows,
		`{ doc: "a list of []int, a map[string]int", w: W? }`:                   `W? needs quotes inside { }: "W?"`,
		`{ doc: "five * six", payload: { w: W? } }`:                             `W? needs quotes inside { }: "W?"`,
		`{ doc: it's, payload: { m: "map[string]int", w: W? } }`:                `W? needs quotes inside { }: "W?"`,
		`{ doc: 'it''s {', payload: { w: W? } }`:                                `W? needs quotes inside { }: "W?"`,
		`{ doc: "say \"map[\"", payload: { w: W? } }`:                           `W? needs quotes inside { }: "W?"`,
		`{ doc: Really? Yes., payload: { m: "map[string]int" } }`:               `Really? Yes. needs quotes inside { }: "Really? Yes."`,
		`{ doc: Settings, such as color: blue: pale, payload: {} }`:             `blue: pale needs quotes inside { }: "blue: pale"`,
		`{ doc: "*.failed", retry: { backoff: *b } }`:                           `a pattern that begins with * needs quotes: "*.failed"`,
		`{ owner: @team }`:                                                      "a string that begins with @, % or a backquote needs quotes",
		`{ doc: First, second. }`:                                               comma,
		`{ doc: One, payload: { w: { type: string, doc: Two, three of it. } }}`: comma,
		`{ tags: [a, b }`:                                                       "",
	} {
		_, findings := parse.Text("events.yaml", []byte("version: 1\npackage: p\nevents:\n  a.b: "+line+"\n"))
		if len(findings) == 0 || findings[0].Hint != want {
			t.Errorf("%s: %v, want the hint %q", line, findings, want)
		}
	}
}
