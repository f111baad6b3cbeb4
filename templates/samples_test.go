package templates

import (
	"strings"
	"testing"
)

func TestASampleIsTheFirstExampleOrMadeUp(t *testing.T) {
	c := parsed(t, `
events:
  a:
    deprecated: use b
    payload: { note: string, tags: "[]string" }
    examples: [{ note: "a`+"`"+`\u202E\U0001F600", tags: [] }, { note: other, tags: [] }]
  b: { payload: { note: string } }
`)
	emits(t, strings.ReplaceAll(`
// SampleA returns a new copy of the first example of a.
//
// Deprecated: use b
func SampleA() shop.A {
	return wire.MustParse[shop.A](~{
		"note": "a\u0060\u202e😀",
		"tags": []
	}~)
}
`, "~", "`"), sample(c.Events[0], "example.com/shop"))
	emits(t, strings.ReplaceAll(`
// SampleB returns a new, valid payload of b with made-up values.
func SampleB() shop.B {
	return wire.MustParse[shop.B](~{
		"note": "note"
	}~)
}
`, "~", "`"), sample(c.Events[1], "example.com/shop"))
}
