package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/gen/wire"
)

// Texts are looked at eight bytes at a time, and the rest in another way. So each byte is put at each place of texts of
// these lengths, between two kinds of neighbours.
func TestTextsWithAnyByteAtAnyPlaceAreThoseOfEncodingJSON(t *testing.T) {
	for length := 1; length <= 18; length++ {
		for at := range length {
			for c := range 256 {
				for _, neighbour := range []string{"a", "~"} {
					text := strings.Repeat(neighbour, at) + string([]byte{byte(c)}) + strings.Repeat(neighbour, length-at-1)
					requireSameText(t, text)
				}
			}
		}
	}
}

func requireSameText(t *testing.T, value string) {
	t.Helper()
	want, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var w wire.Writer
	w.String(value)
	if got, ok := w.Finish(); !ok || string(got) != string(want) {
		t.Fatalf("%q is written as %s, %v, want %s", value, got, ok, want)
	}
	requireTextRead(t, string(want), true)
	requireTextRead(t, `"`+value+`"`, false)
}

// requireTextRead checks that a Reader that has not given up has read the text of encoding/json, and whether it may give up.
func requireTextRead(t *testing.T, data string, must bool) {
	t.Helper()
	var want string
	wantErr := json.Unmarshal([]byte(data), &want)
	r := wire.NewReader([]byte(data))
	got := r.String()
	if ok := r.Finish(); !ok && must || ok && (wantErr != nil || got != want) {
		t.Fatalf("%q is read as %q, %v, want %q, %v", data, got, ok, want, wantErr)
	}
}
