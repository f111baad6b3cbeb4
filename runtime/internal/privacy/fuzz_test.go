package privacy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/plainjson"
)

func TestAValueThatIsLeftOfNothingHasAnEnd(t *testing.T) {
	// An expression is a sum of two, or a number. The catalogue may say so in this order.
	shape := Read(`{"version":1,"payload":{"it":"Expression","by":{"type":"string","personal":true}},"types":{"Expression":{"discriminator":"kind",` +
		`"one_of":{"sum":{"fields":{"left":"Expression","right":"Expression"}},"number":{"fields":{"n":"int"}}}}}}`)
	for payload, want := range map[string]string{
		`{"it":{},"by":"Zeb"}`:             `{"it":{"kind":"number","n":0},"by":"[erased]"}`,
		`{"by":"Zeb"}`:                     `{"it":{"kind":"number","n":0},"by":"[erased]"}`,
		`{"it":{"kind":"sum"},"by":"Zeb"}`: `{"it":{"kind":"sum","left":{"kind":"number","n":0},"right":{"kind":"number","n":0}},"by":"[erased]"}`,
		`0`:                                `{"it":{"kind":"number","n":0},"by":"[erased]"}`,
	} {
		if got := shape.Redact(1, []byte(payload), Person{"Zeb"}, true); string(got) != want {
			t.Errorf("of %s nothing is left but %s, want %s", payload, got, want)
		}
	}
}

func TestASchemaWhoseValuesWouldHaveNoEndHidesAll(t *testing.T) {
	for _, text := range []string{
		`{"payload":{"a":"A"},"types":{"A":{"custom":"A"}}}`,
		`{"payload":{"a":"A"},"types":{"A":{"custom":"B"},"B":{"custom":"A"}}}`,
		`{"payload":{"a":"A"},"types":{"A":{"fields":{"a":"A"}}}}`,
		`{"payload":{"a":"A"},"types":{"A":{"discriminator":"k","one_of":{"a":{"fields":{"a":"A"}}}}}}`,
		`{"payload":{"a":"` + strings.Repeat("[]", 1<<20) + `int"}}`,
	} {
		if got, _ := Read(text).Hide(0, []byte(`{"a":"secret"}`)); string(got) != `"[hidden]"` {
			t.Errorf("with the schema %.80s it is shown as %s", text, got)
		}
	}
}

// Who can write the file can write schemas, and who publishes chooses payloads. Neither makes a reader panic, run for
// ever, or show what is hidden.
func FuzzASchemaAndAPayloadOfSomebodyElse(f *testing.F) {
	f.Add(schema, payload, 3)
	f.Add(schema, `{"mail":"zeb@example.org","plan":"free"}`, 2)
	f.Add(`{"version":1,"payload":{"a":"A"},"types":{"A":{"fields":{"a":"A?","b":{"type":"[]A","sensitive":true}}}}}`, `{"a":{"a":{"b":[{}]}}}`, 1)
	f.Add(`{"version":1,"payload":{"a":"A"},"types":{"A":{"custom":"A"}}}`, `{"a":1,"A":2}`, 1)
	f.Add(`{"payload":{"a":{"type":"map[string]string?","personal":true,"sensitive":true}}}`, `{"a":{"zeb":"zeb"}}`, 0)
	f.Add(`{"payload":{"a":"A"},"types":{"A":{"discriminator":"k","one_of":{"a":{"fields":{"a":"A"}},"b":{}}}}}`, `{"a":{"k":"b"}}`, 0)
	f.Add(schema, `0`, 3)
	f.Add(`{"history":{"0":{}}}`, `[`, 0)
	f.Fuzz(func(t *testing.T, schema, payload string, version int) {
		s := Read(schema)
		shown, veil := s.Hide(version, []byte(payload))
		veil.Text(payload)
		person := Person{"zeb", "zeb@example.org"}
		s.Names(version, []byte(payload), person, "")
		s.Compare(Read(schema), version)
		redacted := s.Redact(version, []byte(payload), person, false)
		if !json.Valid(redacted) {
			t.Errorf("redacted it is %q", redacted)
		}
		if !json.Valid([]byte(payload)) {
			return
		}
		if !json.Valid(shown) {
			t.Fatalf("it is shown as %q", shown)
		}
		if left, ok := Restore(shown, shown, json.RawMessage(payload)); !strings.Contains(payload, Hidden) && (!ok || !plainjson.Same(left, []byte(payload))) {
			t.Errorf("shown as %s and not changed, it is stored as %s, %v", shown, left, ok)
		}
		// What is hidden alone is not found by parts of it, either.
		if again, _ := s.Hide(version, shown); s.Sensitive() && strings.Count(string(again), Hidden) < strings.Count(string(shown), Hidden) {
			t.Errorf("shown as %s, that is shown as %s", shown, again)
		}
	})
}
