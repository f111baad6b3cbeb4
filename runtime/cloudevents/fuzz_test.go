package cloudevents_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/busgen/busgen/runtime/cloudevents"
)

// A sender may be anybody. What is read as an event is written as one that is read as the same.
func FuzzAnEventOfSomebodyElse(f *testing.F) {
	for _, text := range []string{
		`{"specversion":"1.0","id":"1","source":"/shop","type":"order.placed","time":"2026-01-02T03:04:05Z","data":{"a":1}}`,
		`{"specversion":"1.0","id":"1","source":"/shop","type":"x","datacontenttype":"application/json","data_base64":"e30="}`,
		`{"specversion":"1.0","id":"1","source":"s","type":"x","count":-1,"yes":true,"no":null,"data":null}`,
		`{"id":{}}`, `[]`, `null`, `{`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e, again cloudevents.Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%q is read as %+v, which cannot be written: %v", text, e, err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%q is written as %q, which cannot be read: %v", text, written, err)
		}
		again.Data, e.Data = compact(again.Data), compact(e.Data)
		if !reflect.DeepEqual(again, e) {
			t.Errorf("%q is read as %+v, and what that is written as as %+v", text, e, again)
		}
	})
}

// compact returns JSON in one way to write it.
func compact(text json.RawMessage) json.RawMessage {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return nil
	}
	written, _ := json.Marshal(value)
	return written
}
