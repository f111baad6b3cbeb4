package schema_test

import (
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/payload/schema"
)

func TestASchemaSaysWhichFieldsAreSensitiveAndPersonal(t *testing.T) {
	const text = `version: 1
package: events
types:
  Person: { fields: { name: { type: string, personal: true }, age: int } }
events:
  user.registered:
    version: 2
    history: { 1: { payload: { mail: { type: string, sensitive: true } } } }
    payload:
      email: { type: string, sensitive: true, personal: true }
      plan: { type: string, sensitive: false }
      home: { sensitive: true, fields: { street: { type: string, personal: true } } }
      friends: "[]Person"
`
	c, findings := parse.Text("events.yaml", []byte(text))
	if findings != nil {
		t.Fatal(findings)
	}
	const want = `{"event":"user.registered","version":2,"payload":{"email":{"type":"string","sensitive":true,"personal":true},"plan":"string",` +
		`"home":{"type":"{}","fields":{"street":{"type":"string","personal":true}},"sensitive":true},"friends":"[]Person"},` +
		`"history":{"1":{"mail":{"type":"string","sensitive":true}}},"types":{"Person":{"fields":{"name":{"type":"string","personal":true},"age":"int"}}}}`
	got := schema.Of(c.Events[0])
	if got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	back, err := schema.Read("the schema", got)
	if err != nil {
		t.Fatal(err)
	}
	if again := schema.Of(back.Events[0]); again != want {
		t.Errorf("it is read as %s", again)
	}
}
