package plainjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/plainjson"
)

func TestJSONThatDecodersAcceptByMistakeIsFound(t *testing.T) {
	for document, want := range map[string]string{
		`{"a":1,"b":[1,{"c":"x"}],"d":{"a":null}}`: "",
		`{"a":1,"a":2}`:                        "a: is there twice",
		"{\"a\" : 1 ,\n\"\\u0061\":{}}":        "a: is there twice",
		`{"a":{"b":[{},{"c":1,"c":1,"c":1}]}}`: "a.b[1].c: is there twice; a.b[1].c: is there twice",
		"{\"a\":[\"x\",\"\xff\"]}":             "a[1]: is not valid UTF-8",
		"{\"\xff\":1}":                         "\uFFFD: the key is not valid UTF-8",
		"\"\xc3\"":                             ": is not valid UTF-8",
		`{"a":"\ud800"}`:                       "a: is not valid UTF-8",
		`{"a":"\udc00\ud800"}`:                 "a: is not valid UTF-8",
		`{"a":"\ud83d\ude00 \\ud800 \n \""}`:   "",
		`{"a":"\ud83dx"}`:                      "a: is not valid UTF-8",
		`{"a":"\ud83d\u0041"}`:                 "a: is not valid UTF-8",
		`{"a":1,"a":2`:                         "", // no JSON
		``:                                     "",
		` [ -1.5e3 , true , "" , [ ] ] `:       "",
	} {
		var got []string
		for _, p := range plainjson.Check([]byte(document)) {
			got = append(got, p.Path+": "+p.Message)
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: %q, want %q", document, text, want)
		}
	}
}

// What is found nothing in says the same after having been decoded and encoded.
func FuzzNothingIsLostOfWhatPasses(f *testing.F) {
	for _, seed := range []string{`{"a":1,"a":2}`, `["\ud800"]`, `{"a":{"b":[null,1.5,"\u00e9"]}}`, "\"\xff\"", ` {"":"" } `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		problems := plainjson.Check(document)
		if !json.Valid(document) || len(problems) > 0 {
			return
		}
		if text := fmt.Sprint(decoded(t, document)); strings.Contains(text, "\uFFFD") &&
			!strings.Contains(string(document), "\uFFFD") && !strings.Contains(strings.ToLower(string(document)), `\ufffd`) {
			t.Errorf("%q lost a character: %s", document, text)
		}
	})
}

func decoded(t *testing.T, document []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(document, &value); err != nil {
		t.Skip(err) // a number that no float64 holds
	}
	return value
}
