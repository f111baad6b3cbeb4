package compiletest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"
)

// Stored JSON is read by the names that fields had, and with defaults for what is missing, in every
// place of a payload and of its versions before. Each payload is shown as it would be published.
func TestStoredEventsAreReadByFormerNamesAndWithDefaults(t *testing.T) {
	short.Visit(t, "it compiles programs")
	c, findings, err := parse.Load("testdata/former/events.yaml")
	if err != nil || findings != nil {
		t.Fatal(err, findings)
	}
	const (
		scalars = `{"a":"\"` + "`" + `x","b":true,"c":16,"d":1e-9,"e":"-0.10","f":"2024-02-29","g":"36h0m0s","h":"018f4f2e-0000-7000-8000-000000000001",` +
			`"i":"M","j":2,"k":-1,"l":9007199254740993,"m":18446744073709551615}`
		zeros = `{"a":"","b":false,"c":0,"d":0,"e":"0","f":"2020-01-01","g":"0s","h":"00000000-0000-0000-0000-000000000000","i":"S","j":1,"k":0,"l":0,"m":0}`
		plain = `{"to":{"street":"Elm","district":"5"},"floors":[{"floor":2}],"by_name":{"a":{"street":"","district":"6"}},"note":"x","tags":["y"]}`
	)
	var calls, want []string
	for _, test := range []struct{ of, stored, today string }{
		{"PlainSent", plain, plain},
		{"PlainSent", `{"home":{"street":"Elm","ward":"5"},"levels":[{"level":2}],"by_name":{"a":{"street":"","ward":"6"}},"remark":"x","labels":["y"]}`, plain},
		{"PlainSent", `{"labels":["y"],"remark":"x","by_name":{"a":{"ward":"6","street":""}},"levels":[{"level":2}],"address":{"ward":"5","street":"Elm"}}`, plain},
		{"PlainSent", `{}`, `{"to":{"street":"","district":""},"floors":null,"by_name":null,"tags":null}`},
		// The present name wins, wherever it is, and the first of the former names; nothing is mixed.
		{"PlainSent", `{"home":{"street":"A","ward":"1"},"to":{"district":"2"}}`, `{"to":{"street":"","district":"2"},"floors":null,"by_name":null,"tags":null}`},
		{"PlainSent", `{"to":{"district":"2"},"home":{"street":"A","ward":"1"}}`, `{"to":{"street":"","district":"2"},"floors":null,"by_name":null,"tags":null}`},
		{"PlainSent", `{"address":{"street":"A"},"home":{"street":"B"}}`, `{"to":{"street":"B","district":""},"floors":null,"by_name":null,"tags":null}`},
		{"PlainSent", `{"to":{"ward":"1","district":"2"},"labels":["a","b"],"tags":["c"]}`, `{"to":{"street":"","district":"2"},"floors":null,"by_name":null,"tags":["c"]}`},
		{"PlainSent", `{"remark":"x","note":null,"labels":["a"],"tags":null}`, `{"to":{"street":"","district":""},"floors":null,"by_name":null,"tags":null}`},
		{"PlainSent", `{"REMARK":"x","Home":{"WARD":"1"}}`, `{"to":{"street":"","district":"1"},"floors":null,"by_name":null,"note":"x","tags":null}`},
		{"PlainSent", `{"floors":[{},{"floor":null},{"level":null},{"floor":3},{"level":4}]}`,
			`{"to":{"street":"","district":""},"floors":[{"floor":1},{"floor":1},{"floor":1},{"floor":3},{"floor":4}],"by_name":null,"tags":null}`},
		{"PlainSent", `null`, `{"to":{"street":"","district":""},"floors":null,"by_name":null,"tags":null}`},
		{"PlainSentV1", `{"home":"Elm"}`, `{"to":"Elm","n":7}`},
		{"PlainSentV1", `{"n":1,"to":"Elm"}`, `{"to":"Elm","n":1}`},
		{"ScalarSent", `{}`, scalars},
		{"ScalarSent", zeros, zeros},
		{"ScalarSent", `{"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null,"h":null,"i":null,"j":null,"k":null,"l":null,"m":null}`, scalars},
		{"ScalarSent", `{"dd":2,"levels":1,"c":0}`, strings.NewReplacer(`"d":1e-9`, `"d":2`, `"j":2`, `"j":1`, `"c":16`, `"c":0`).Replace(scalars)},
		{"UnionSent", `{"paid":{"kind":"card","last_four":"1"},"all":[{"kind":"card"},{"number":"2","kind":"card"}],"named":{"a":{"kind":"both","one":{"kind":"cash"}}}}`,
			`{"by":{"kind":"card","digits":"1"},"all":[{"kind":"card","digits":"0000"},{"kind":"card","digits":"2"}],"named":{"a":{"kind":"both","first":{"kind":"cash"}}},"n":3}`},
		{"UnionSent", `{"n":0,"by":{"kind":"cash"},"paid":{"kind":"card"},"all":null,"named":null}`, `{"by":{"kind":"cash"},"all":null,"named":null,"n":0}`},
		{"CustomSent", `{"number":1,"perhaps":2,"by_name":{"a":{"old_v":3},"b":{"v":4,"n":5}}}`, `{"big":1,"maybe":2,"by_name":{"a":{"v":3,"n":4},"b":{"v":4,"n":5}}}`},
		{"CustomSent", `{"number":1,"perhaps":2,"big":3,"maybe":null}`, `{"big":3,"by_name":null}`},
	} {
		calls = append(calls, fmt.Sprintf("show[events.%s](%q)", test.of, test.stored))
		want = append(want, test.today)
	}
	module := newModule(t)
	addPackage(t, module, "events", c)
	module.add("main.go", strings.Replace(formerProgram, "CALLS", strings.Join(calls, "\n\t"), 1))
	module.run("vet", "./...")
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", module.run("run", ".")); diff != "" {
		t.Error(diff)
	}
}

const formerProgram = `package main

import (
	"encoding/json"
	"fmt"

	"example.com/cases/events"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"
)

func show[T any](stored string) {
	codec := wire.NewCodec[T]()
	read := func(text string, unmarshal func([]byte) (T, error)) T {
		value, err := unmarshal([]byte(text))
		if err != nil {
			fmt.Printf("%s: %v\n", text, err)
		}
		return value
	}
	value := read(stored, codec.Decode)
	encoded, err := codec.Encode(value)
	fmt.Println(string(encoded))
	if err != nil {
		fmt.Println(err)
	}
	unmarshal := func(text []byte) (value T, err error) { return value, json.Unmarshal(text, &value) }
	for _, again := range []T{read(" "+stored, codec.Decode), read(stored, unmarshal), read(string(encoded), codec.Decode), read(string(encoded), unmarshal)} {
		if !runtime.Equal(again, value) {
			fmt.Printf("%s is also read as\n%+v\n", stored, again)
		}
	}
}

func main() {
	for _, generated := range []bool{
		wire.NewCodec[events.PlainSent]().Generated(), wire.NewCodec[events.PlainSentV1]().Generated(), wire.NewCodec[events.ScalarSent]().Generated(),
	} {
		if !generated {
			fmt.Println("a plain payload is left to encoding/json")
		}
	}
	CALLS
}
`
