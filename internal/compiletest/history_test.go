package compiletest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/templates"
)

// The same program with three catalogues, one after the other on one file: the third
// has renamed the event and its subscription.
func TestThreeVersionsInOneFileAreDeliveredAsTheNewest(t *testing.T) {
	short.Visit(t, "it compiles programs")
	module := newModule(t)
	for _, version := range []string{"v1", "v2", "v3"} {
		c, findings, err := parse.Load("testdata/history/" + version + "/events.yaml")
		if err != nil || len(findings) > 0 {
			t.Fatal(findings, err)
		}
		files, err := templates.Files(c, templates.Target{})
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			module.add(version+"/"+file.Name, string(file.Content))
		}
		if version != "v1" {
			module.add(version+"/upcasts.go", string(read(t, "testdata/history/"+version+"/upcasts.go")))
		}
	}
	module.add("main.go", string(read(t, "testdata/history/main.go")))

	path := filepath.Join(t.TempDir(), "shop.db")
	want := "order.placed version 1: number 1, 100 EUR\n" +
		"order.placed version 2: number 2, 200 USD\n" +
		"order.placed version 3: number 3, 300 JPY\n"
	if diff := cmp.Diff(want, module.run("run", ".", path)); diff != "" {
		t.Error(diff)
	}

	inspector, err := inspect.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	if err != nil || len(letters) != 1 {
		t.Fatal(err, letters)
	}
	if l := letters[0]; l.Type != "order.placed" || l.Subscription != "send-receipt" || l.Version != 2 || l.Failures != 1 ||
		!strings.Contains(l.LastAttempt().Error, `parsing "two"`) || string(l.Payload) != `{"order":"two","total":{"amount":200,"currency":"USD"}}` {
		t.Errorf("the dead letter is %+v", l)
	}
}
