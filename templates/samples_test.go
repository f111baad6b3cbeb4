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
// SampleA returns the first example of a: valid, and a new one each time.
//
// Deprecated: use b
func SampleA() A {
	return wire.MustParse[A](~{
		"note": "a\u0060\u202e😀",
		"tags": []
	}~)
}
`, "~", "`"), sample(c.Events[0]))
	emits(t, strings.ReplaceAll(`
// SampleB returns a payload of b that was made up: valid, and a new one each
// time.
func SampleB() B {
	return wire.MustParse[B](~{
		"note": "note"
	}~)
}
`, "~", "`"), sample(c.Events[1]))
}
