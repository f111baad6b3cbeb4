package plainjson_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/plainjson"
)

// A path for each value would be ten gigabytes.
func TestADocumentWithAMillionValuesBelowALongKeyCostsNoMoreThanItsSize(t *testing.T) {
	document := []byte(`{"` + strings.Repeat("k", 100_000) + `":[` + strings.Repeat("1,", 100_000) + `1]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	problems := plainjson.Check(document)
	runtime.ReadMemStats(&after)
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
		t.Errorf("%d bytes were allocated for a document of %d", took, len(document))
	}
}

func TestOnlyTheFirstHundredProblemsAreReported(t *testing.T) {
	document := []byte(`{"a":[` + strings.Repeat(`{"b":1,"b":2},`, 1000) + `{"b":1,"b":2}]}`)
	problems := plainjson.Check(document)
	if len(problems) != 100 || problems[99].Path != "a[99].b" {
		t.Errorf("%d problems, the last is %v", len(problems), problems[len(problems)-1])
	}
}
