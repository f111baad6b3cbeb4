package plainjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/plainjson"
)

func TestAScannerReturnsValuesAsTheyAreWritten(t *testing.T) {
	s := plainjson.Scanner{Rest: []byte(` { "a" : [ 1.5e3 , "]\"}" , {"x":[]} ] , "b<" : null, "c":true} `)}
	var got []string
	s.Entries(func(key json.RawMessage) {
		got = append(got, string(key)+" is "+s.Next())
		if s.Next() != "a list" {
			got = append(got, string(s.Value()))
			return
		}
		s.Items(func(int) { got = append(got, s.Next()+" "+string(s.Value())) })
	})
	const want = `"a" is a list; a number 1.5e3; a string "]\"}"; an object {"x":[]}; "b<" is null; null; "c" is true or false; true`
	if text := strings.Join(got, "; "); text != want || string(s.Rest) != " " {
		t.Errorf("got  %s\nwant %s\nrest %q", text, want, s.Rest)
	}
}

func TestEncodedJSONHasNoEscapesForHTML(t *testing.T) {
	document, err := plainjson.Document(map[string]any{"<": []int{1}, "e": []int{}})
	if want := "{\n  \"<\": [\n    1\n  ],\n  \"e\": []\n}\n"; err != nil || string(document) != want {
		t.Errorf("%q, %v; want %q", document, err, want)
	}
	if _, err := plainjson.Document(func() {}); err == nil {
		t.Error("a function is JSON")
	}
	if quoted := plainjson.Quote("a\n&\""); string(quoted) != `"a\n&\""` || plainjson.Unquote(quoted) != "a\n&\"" {
		t.Errorf("%s", quoted)
	}
}
