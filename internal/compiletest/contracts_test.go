package compiletest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testdata/contract3/events has what busgen generated of events.yaml beside it when NewestContract was 3.
func TestCodeOfContract3RunsOnThisRuntime(t *testing.T) {
	module := newModule(t)
	files, err := filepath.Glob("testdata/contract3/events/*.gen.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		module.add("events/"+filepath.Base(file), string(read(t, file)))
	}
	module.add("main.go", string(read(t, "testdata/contract3/main.go")))
	module.run("vet", "./...")
	want := `the second one is a duplicate
order.placed: {OrderID:00000000-0000-0000-0000-000000000001 Total:{Amount:100 Currency:EUR} Notes:[fast]}, attempt 1 of 4
the answer is {Amount:4 Currency:USD}
charge-card: timeout 1m0s, 4 attempts, limits [{bank order_id}], errors 1, redrive 0
send-receipt: timeout 20s, 4 attempts, limits [{bank order_id}], errors 1, redrive 2
`
	if diff := cmp.Diff(want, module.run("run", ".", filepath.Join(t.TempDir(), "shop.db"))); diff != "" {
		t.Error(diff)
	}
}
