package payload_test

import (
	"testing"

	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/payload"
)

// Each bound is the last that is taken, for every type that can have one.
func TestConstraintsHoldUpToTheirBounds(t *testing.T) {
	tests := []struct{ field, good, bad, problem string }{
		{`{ type: int, min: 2 }`, `2`, `1`, `is 1; it must be at least 2`},
		{`{ type: uint64, max: 18446744073709551614 }`, `18446744073709551614`, `18446744073709551615`, `is 18446744073709551615; it must be at most 18446744073709551614`},
		{`{ type: float64, max: 0.5 }`, `5e-1`, `0.51`, `is 0.51; it must be at most 0.5`},
		{`{ type: decimal, min: 1.50 }`, `"1.5"`, `"1.49"`, `is 1.49; it must be at least 1.50`},
		{`{ type: decimal, max: "-2" }`, `"-2.0"`, `"-1.999"`, `is -1.999; it must be at most -2`},
		{`{ type: duration, max: 2d }`, `"48h"`, `"48h0m1ns"`, `is 48h0m1ns; it must be at most 48h0m0s`},
		{`{ type: string, min_length: 2 }`, `"ßß"`, `"ß"`, `has 1 character; it needs at least 2`},
		{`{ type: string, max_length: 2 }`, `"ßß"`, `"ßßß"`, `has 3 characters; it may have at most 2`},
		{`{ type: bytes, max_length: 2 }`, `"AAE="`, `"AAEC"`, `has 3 bytes; it may have at most 2`},
		{`{ type: bytes, min_length: 1 }`, `"AA=="`, `null`, `has 0 bytes; it needs at least 1`},
		{`{ type: string, pattern: "b+$" }`, `"abb"`, `"bba"`, `"bba" does not match b+$`},
		{`{ type: string, format: cidr }`, `"10.0.0.0/8"`, `"10.0.0.0"`, `"10.0.0.0" is not an address range such as 10.0.0.0/8`},
		{`{ type: "[]int", min_items: 1 }`, `[0]`, `null`, `has 0 items; it needs at least 1`},
		{`{ type: "[]int", max_items: 2 }`, `[1,1]`, `[1,2,3]`, `has 3 items; it may have at most 2`},
		{`{ type: "map[string]int", max_items: 1 }`, `{"a":1}`, `{"a":1,"b":1}`, `has 2 items; it may have at most 1`},
		{`{ type: "[]string", unique: true }`, `["a","A"]`, `["a","\u0061"]`, `f[1]: is the same as f[0]`},
		{`{ type: "[]float64", unique: true }`, `[1,2]`, `[1,1.0]`, `f[1]: is the same as f[0]`},
		{`{ type: "[]duration", unique: true }`, `["1m","61s"]`, `["1m","60s"]`, `f[1]: is the same as f[0]`},
		{`{ type: "[]decimal", unique: true }`, `["1.0","1"]`, `["1","1"]`, `f[1]: is the same as f[0]`},
		{`{ type: "[]uuid", unique: true }`, `["018f4f2e-0000-7000-8000-00000000000a"]`,
			`["018f4f2e-0000-7000-8000-00000000000a","018F4F2E-0000-7000-8000-00000000000A"]`, `f[1]: is the same as f[0]`},
		{`{ type: "[]string", items: { min_length: 1 } }`, `["a"]`, `["a",""]`, `f[1]: has 0 characters; it needs at least 1`},
		{`{ type: "[]bytes", items: { min_length: 1 } }`, `["AA=="]`, `[null]`, `f[0]: has 0 bytes; it needs at least 1`},
		{`{ type: "map[string]int", values: { max: 2 } }`, `{"a":2}`, `{"a":2,"b c":3}`, `f["b c"]: is 3; it must be at most 2`},
		{`{ type: "[][]uuid", items: { max_items: 2, unique: true } }`, `[[],null]`,
			`[[],["018f4f2e-0000-7000-8000-00000000000a","018F4F2E-0000-7000-8000-00000000000A"]]`, `f[1][1]: is the same as f[1][0]`},
		{`{ type: "map[string][]string", values: { items: { format: ip } } }`, `{"a":["::1"]}`, `{"a":["::1"],"b":["::1","x"]}`, `f["b"][1]: "x" is not an IP address`},
	}
	for _, test := range tests {
		c := catalogtest.Parsed(t, "version: 1\npackage: events\nevents: { e: { payload: { f: "+test.field+" } } }\n")
		if err := payload.Check(c, "e", 1, []byte(`{"f":`+test.good+`}`)); err != nil {
			t.Errorf("%s refuses %s: %v", test.field, test.good, err)
		}
		want := test.problem
		if want[:2] != "f[" {
			want = "f: " + want
		}
		if err := payload.Check(c, "e", 1, []byte(`{"f":`+test.bad+`}`)); err == nil || err.Error() != want {
			t.Errorf("%s, %s: got %v, want %s", test.field, test.bad, err, want)
		}
	}
}

func TestConstraintsAreAboutFieldsThatAreThere(t *testing.T) {
	c := catalogtest.Parsed(t, `
version: 1
package: events
events: { e: { payload: { f: { type: "string?", min_length: 3 }, g: { type: "[]int?", min_items: 2 } } } }
`)
	for _, given := range []string{`{}`, `{"f":null,"g":null}`} {
		if err := payload.Check(c, "e", 1, []byte(given)); err != nil {
			t.Errorf("%s: %v", given, err)
		}
	}
	if payload.Check(c, "e", 1, []byte(`{"g":[]}`)) == nil {
		t.Error("an optional list that is there may be too short")
	}
}
