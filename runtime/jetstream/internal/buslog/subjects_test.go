package buslog

import (
	"strings"
	"testing"
)

// A subject with a wildcard or a blank would be another one, or none.
func TestNoNameOfAnEventMakesAWildcardOfASubject(t *testing.T) {
	for name, want := range map[string]string{
		"order.placed": "order.placed", "OrderPlaced": "OrderPlaced", "größe.🎉": "größe.🎉", "a>b": "a_b", ">": "_", "a.>": "a._", "*": "_", "a b\tc": "a_b_c", "$dead.a": "$dead.a",
	} {
		got := token(name)
		if got != want || strings.ContainsAny(got, "*> \t\r\n") {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
