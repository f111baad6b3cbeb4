package busfile

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/cloudevents"
)

func TestEventsAreExportedAsCloudEvents(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		for n := range 3 {
			s.order(n+1, "ada@example.org", 100)
		}
		time.Sleep(time.Second)
		must(t, os.WriteFile("outside.yaml", []byte("version: 1\npackage: shop\ncloudevents: { source: https://shop.example, type_prefix: com.example. }\nevents: { a.b: {} }\n"), 0o600))
		for line, want := range map[string]struct{ source, eventType string }{
			"--source urn:a:b":         {"urn:a:b", "order.placed"},
			"--catalogue outside.yaml": {"https://shop.example", "com.example.order.placed"},
			"--catalogue outside.yaml --source /x --type-prefix org.example. -o x.": {"/x", "org.example.order.placed"},
		} {
			got := typed(t, "busgen events export shop.db --type order.placed "+line, "")
			text := got.Stdout
			if strings.HasSuffix(line, " x.") {
				content, err := os.ReadFile("x.")
				must(t, err)
				text = string(content)
			}
			lines := strings.Split(strings.TrimSpace(text), "\n")
			if got.Status != 0 || got.Stderr != "exported 3 events\n" || len(lines) != 3 {
				t.Fatalf("%s: %+v", line, got)
			}
			for _, one := range lines {
				var e cloudevents.Event
				must(t, json.Unmarshal([]byte(one), &e))
				if e.Source != want.source || e.Type != want.eventType {
					t.Errorf("%s: %s", line, one)
				}
			}
		}
		typed(t, "busgen events export shop.db --source urn:a:b --until 2001-01-01", "").Wants(t, 0, "", "exported 0 events\n")
		for line, says := range map[string]string{
			"":                          "the events need a source: name the catalogue",
			"--catalogue events.yaml":   "events.yaml does not say what events are called outside",
			"--source 'a b'":            "--source cannot be \"a b\": it is not a URI reference",
			"--source / --dataschema x": "--dataschema cannot be \"x\"",
			"--source / --out x.":       "x. exists already",
		} {
			if line == "--catalogue events.yaml" {
				must(t, os.WriteFile("events.yaml", []byte("version: 1\npackage: shop\nevents: { a.b: {} }\n"), 0o600))
			}
			if got := typed(t, "busgen events export shop.db "+line, ""); got.Status != 2 || got.Stdout != "" || !strings.Contains(got.Stderr, says) {
				t.Errorf("%s: %+v", line, got)
			}
		}
	})
}
