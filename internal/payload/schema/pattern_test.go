package schema_test

import (
	"testing"

	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/payload/schema"
)

func TestARecordedPatternThatIsNoRegularExpressionIsKept(t *testing.T) {
	const line = `{"event":"a","version":1,"payload":{"x":{"type":"string","pattern":"["},"y":"int"}}`
	c, err := schema.Read("the schema", line)
	if err != nil {
		t.Fatal(err)
	}
	if got := schema.Of(c.Events[0]); got != line {
		t.Errorf("it is written as %s", got)
	}
	err = payload.Check(c, "a", 1, []byte(`{"x":"b","y":1.5}`))
	const want = "x: cannot be checked: its pattern [ is not a regular expression; y: 1.5 is not a value of int"
	if err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	if err := payload.CheckDecode(c, "a", 1, []byte(`{"x":"b","y":1}`)); err != nil {
		t.Errorf("decoders know no patterns, but: %v", err)
	}
	if _, problem := payload.Sample(c.Events[0]); problem == nil {
		t.Error("a sample is made up for a pattern that nothing matches")
	}
}
