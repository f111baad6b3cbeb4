package wire_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

func TestUpgradeGivesAnOlderPayloadPresentNamesAndDefaults(t *testing.T) {
	to := wire.OlderField{Name: "to", Was: []string{"home", "address"}}
	floor := wire.OlderField{Name: "floor", Default: "1"}
	level := wire.OlderField{Name: "floor", Was: []string{"level"}, Default: "1"}
	for _, test := range []struct {
		data   string
		fields []wire.OlderField
		want   string
	}{
		{`{"to":1,"x":2}`, []wire.OlderField{to}, `{"to":1,"x":2}`},
		{` { "x" : [ 2 ] , "home" : {"home":1} } `, []wire.OlderField{to}, ` { "x" : [ 2 ] , "to" : {"home":1} } `},
		{`{"address":1,"home":2}`, []wire.OlderField{to}, `{"address":1,"to":2}`},
		{`{"home":1,"to":2}`, []wire.OlderField{to}, `{"home":1,"to":2}`},
		{`{"home":1,"to":null}`, []wire.OlderField{to}, `{"home":1,"to":null}`},
		{`{"home":1,"home":2}`, []wire.OlderField{to}, `{"to":1,"to":2}`},
		{`{"HOME":1}`, []wire.OlderField{to}, `{"to":1}`},
		{`{"TO":1,"home":2}`, []wire.OlderField{to}, `{"to":1,"home":2}`},
		{`{"E":1,"e":2}`, []wire.OlderField{{Name: "e", Default: "0"}, {Name: "E"}}, `{"e":0,"E":1,"e":2}`},
		{`{"E":1,"f":2}`, []wire.OlderField{{Name: "e", Was: []string{"f"}}, {Name: "E"}}, `{"E":1,"e":2}`},
		{`{"h\u006fme":1,"a\"b":"\"home\":"}`, []wire.OlderField{to}, `{"to":1,"a\"b":"\"home\":"}`},
		{`{}`, []wire.OlderField{to, floor}, `{"floor":1}`},
		{`{ }`, []wire.OlderField{floor, floor}, `{"floor":1,"floor":1 }`},
		{`{"x":1}`, []wire.OlderField{floor}, `{"floor":1,"x":1}`},
		{`{"level":2}`, []wire.OlderField{level}, `{"floor":1,"floor":2}`},
		{`null`, []wire.OlderField{to, floor}, `null`},
		{`[{"home":1}]`, []wire.OlderField{to, floor}, `[{"home":1}]`},
		{`{"home":1`, []wire.OlderField{to, floor}, `{"home":1`},
		{`{"home"`, []wire.OlderField{to}, `{"home"`},
		{`{"home":1,}`, []wire.OlderField{to}, `{"home":1,}`},
		{`{1:2}`, []wire.OlderField{to}, `{1:2}`},
		{``, []wire.OlderField{to}, ``},
	} {
		data := []byte(test.data)
		if got := wire.Upgrade(data, test.fields...); string(got) != test.want {
			t.Errorf("%s: got %s, want %s", test.data, got, test.want)
		}
		if string(data) != test.data {
			t.Errorf("%s has become %s", test.data, data)
		}
	}
}

// However old and new keys are mixed, the reader finds what encoding/json does, or gives up.
func TestFormerNamesAreReadAsEncodingJSONDoesOrNotAtAll(t *testing.T) {
	keys := rapid.SliceOfN(rapid.SampledFrom([]string{"to", "home", "address", "floor", "level", "stops", "steps", "label", "name", "Home", "note"}), 0, 6)
	values := map[string][]string{
		"to": {`{"x":1,"y":2}`, `{"y":3}`, `null`, `1`}, "floor": {`1`, `7`, `null`, `"x"`}, "label": {`"a"`, `null`, `""`},
		"stops": {`null`, `[]`, `[{}]`, `[{"at":"2020-01-01","by":"red"},{"how":"x"},{"by":null,"how":"y"}]`, `[{"how":"x","by":"y"}]`},
	}
	of := map[string]string{"home": "to", "address": "to", "Home": "to", "level": "floor", "steps": "stops", "name": "label", "note": "label"}
	rapid.Check(t, func(t *rapid.T) {
		var parts []string
		for _, key := range keys.Draw(t, "keys") {
			name := key
			if of[key] != "" {
				name = of[key]
			}
			parts = append(parts, `"`+key+`":`+rapid.SampledFrom(values[name]).Draw(t, "value"))
		}
		requireSameValue[features.OrderMoved](t, []byte("{"+strings.Join(parts, ",")+"}"))
	})
}

// A row of either time, as it was written, is read without encoding/json.
func TestOlderRowsAreReadQuickly(t *testing.T) {
	for _, text := range []string{
		`{"to":{"x":1,"y":2},"floor":2,"stops":[{"at":"2020-01-01","by":"red"}],"label":"a"}`,
		`{"home":{"x":1,"y":2},"level":2,"steps":[{"at":"2020-01-01","how":"red"}],"name":"a"}`,
		`{"address":{"x":1,"y":2},"stops":[{}]}`,
	} {
		if !requireSameValue[features.OrderMoved](t, []byte(text)) {
			t.Errorf("the reader gave up on %s", text)
		}
	}
}
