package runtime_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch"
)

// ofSubscription are the settings that hold for a subscription as a whole, so that a delivery does not need them.
var ofSubscription = map[string]bool{"concurrency": true, "strict_order": true}

// withoutOption are the settings that a program cannot override.
var withoutOption = map[string]string{"hold_unknown": "what a program cannot read is no matter of one of its subscriptions"}

// A new row of the table needs a few things by hand. This test names each that was forgotten.
func TestEverySettingIsWhereItHasToBe(t *testing.T) {
	types := map[setting.Kind][3]reflect.Type{
		setting.Span:  {reflect.TypeFor[time.Duration](), reflect.TypeFor[*time.Duration](), reflect.TypeFor[catalog.Value[time.Duration]]()},
		setting.Count: {reflect.TypeFor[int](), reflect.TypeFor[*int](), reflect.TypeFor[catalog.Value[int]]()},
		setting.Flag:  {reflect.TypeFor[bool](), reflect.TypeFor[*bool](), reflect.TypeFor[catalog.Value[bool]]()},
	}
	options, uses := sourceOf(t, "subscribe_options.go", "options.go"), sourceOf(t, "feed.go", "internal/dispatch/*.go")
	tests, reference := sourceOf(t, "internal/conformance/*.go"), sourceOf(t, "../docs/catalogue.md")
	keys := sourceOf(t, "../docs/catalogue-keys.md")
	for _, row := range setting.Plain {
		field := func(of, want reflect.Type) {
			if f, ok := of.FieldByName(row.Go); !ok || f.Type != want {
				t.Errorf("%s: %v needs a field %s %v", row.Key, of, row.Go, want)
			}
		}
		need := func(ok bool, what string) {
			if !ok {
				t.Errorf("%s: %s", row.Key, what)
			}
		}
		want := types[row.Kind]
		field(reflect.TypeFor[declare.Settings](), want[0])
		field(reflect.TypeFor[declare.Override](), want[1])
		field(reflect.TypeFor[catalog.Settings](), want[2])
		if !ofSubscription[row.Key] {
			field(reflect.TypeFor[dispatch.Settings](), want[0])
			need(strings.Contains(uses, "ettings."+row.Go) || strings.Contains(uses, ")."+row.Go), "package dispatch does nothing with it")
		}
		need(row.Doc != "" && row.Label != "" && row.Text != "", "its row needs Doc, Label and Text")
		need(row.Kind != setting.Count || row.Meaning != "", "its row needs a Meaning")
		need(row.Off || row.Kind == setting.Flag || row.Least > 0, "its row needs Off or a Least above 0: 0 in Go is no value")
		need(withoutOption[row.Key] != "" || strings.Contains(options, "func With"+row.Go+"("), "package runtime needs an option With"+row.Go)
		need(strings.Contains(tests, row.Go), "no test of internal/conformance sets "+row.Go)
		need(strings.Contains(keys, "\n| `"+row.Key+"` |"), "docs/catalogue-keys.md is not generated anew")
		need(strings.Contains(reference, row.Key), "docs/catalogue.md needs a sentence")
	}
}

// sourceOf returns the text of files, without tests.
func sourceOf(t *testing.T, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || names == nil {
			t.Fatalf("%s: no file, %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(name, "_test.go") {
				all.Write(text)
			}
		}
	}
	return all.String()
}
