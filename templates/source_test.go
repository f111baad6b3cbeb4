package templates

import (
	"testing"

	"github.com/dave/jennifer/jen"
)

func TestImportsAreGrouped(t *testing.T) {
	got, err := source("// header", packageNamed("p"), []jen.Code{
		jen.Var().Defs(
			jen.Id("a").Add(inRuntime("Date")),
			jen.Id("b").Qual(uuidPath, "UUID"),
			jen.Id("c").Qual("time", "Time"),
			jen.Id("d").Qual(retryPath, "Policy"),
			jen.Id("e").Qual("encoding/json", "RawMessage"),
		),
	})
	want := `// header

package p

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

var (
	a runtime.Date
	b uuid.UUID
	c time.Time
	d retry.Policy
	e json.RawMessage
)
`
	if err != nil || string(got) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}
