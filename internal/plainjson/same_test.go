package plainjson_test

import (
	"testing"

	"github.com/busgen/busgen/internal/plainjson"
)

func TestDocumentsAreTheSameIfTheirValuesAre(t *testing.T) {
	for _, same := range [][]string{
		{`{"a":1,"b":[true,null,"x"]}`, `{"b":[true,null,"x"],"a":1}`, " { \"b\" : [ true,null,\n\"x\"],\"a\":1} "},
		{`"Zürich <&"`, `"Z\u00fcrich \u003c\u0026"`, `"Z\u00FCrich <&"`},
		{`5`, `5.0`, `5e0`, `0.5E1`, `50e-1`},
		{`1e21`, `1e+21`, `1000000000000000000000`},
		{`0`, `-0`, `0.0`, `0e9`},
		{`-12.5`, `-12.50`, `-1.25e1`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{"":{}}`, `{ "" : {} }`},
		{`no JSON`, `no JSON`},
	} {
		for _, a := range same {
			for _, b := range same {
				if !plainjson.Same([]byte(a), []byte(b)) {
					t.Errorf("%s and %s differ", a, b)
				}
			}
		}
	}
	for _, differ := range [][]string{
		{`{"a":1}`, `{"a":2}`, `{"a":"1"}`, `{"A":1}`, `{"a":1,"b":null}`, `{}`, `[]`, `null`, `""`, `0`, `false`},
		{`[1,2]`, `[2,1]`, `[1,2,2]`, `[1]`},
		{`18446744073709551615`, `18446744073709551614`, `18446744073709551616`},
		{`0.1`, `0.10000000000000000001`, `-0.1`},
		{`1e99999999999999999999`, `1e99999999999999999998`},
		{`{"a":1}`, `{"a":1}x`, `{"a":1}{}`, `x`},
	} {
		for i, a := range differ {
			for j, b := range differ {
				if i != j && plainjson.Same([]byte(a), []byte(b)) {
					t.Errorf("%s and %s are the same", a, b)
				}
			}
		}
	}
}
