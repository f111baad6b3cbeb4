package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/gen/wire"
)

func TestUUIDsWithAnyByteAtAnyPlace(t *testing.T) {
	for at := range 16 {
		for b := range 256 {
			var id uuid.UUID
			id[at] = byte(b)
			want, err := json.Marshal(id)
			if err != nil {
				t.Fatal(err)
			}
			var w wire.Writer
			w.UUID(id)
			if got, ok := w.Finish(); !ok || string(got) != string(want) {
				t.Fatalf("%v is written as %s, %v", id, got, ok)
			}
			requireUUIDRead(t, string(want))
		}
	}
}

func TestUUIDsAreReadAsEncodingJSONDoes(t *testing.T) {
	const usual = `"0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f"`
	for at := range usual {
		requireUUIDRead(t, usual[:at])
		for c := range 256 {
			requireUUIDRead(t, usual[:at]+string([]byte{byte(c)})+usual[at+1:])
		}
	}
	inside := strings.Trim(usual, `"`)
	for _, text := range []string{strings.ToUpper(inside), "{" + inside + "}", "urn:uuid:" + inside, strings.ReplaceAll(inside, "-", ""), inside + "0", inside[1:]} {
		requireUUIDRead(t, `"`+text+`"`)
	}
}

// requireUUIDRead checks that a Reader accepts what encoding/json does, with the same result.
func requireUUIDRead(t *testing.T, data string) {
	t.Helper()
	var want uuid.UUID
	wantErr := json.Unmarshal([]byte(data), &want)
	r := wire.NewReader([]byte(data))
	got := r.UUID()
	if ok := r.Finish(); ok != (wantErr == nil) || ok && got != want {
		t.Fatalf("%q is read as %v, %v, want %v, %v", data, got, ok, want, wantErr)
	}
}
