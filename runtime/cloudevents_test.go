package runtime_test

import (
	"net/url"
	"testing"

	"github.com/busgen/busgen/runtime"
)

// A name on the wire can have characters that mean something in a URI.
func TestTheSchemaOfAnEventIsAURIWhateverItIsCalled(t *testing.T) {
	names := runtime.CloudEvents{TypePrefix: "com.example.", DataSchema: "https://shop.example/{type}/{version}?v={version}"}
	for eventType, want := range map[string]string{
		"order.placed": "https://shop.example/order.placed/2?v=2",
		"Größe/a#1?%":  "https://shop.example/Gr%C3%B6%C3%9Fe%2Fa%231%3F%25/2?v=2",
	} {
		got := names.DataSchemaOf(eventType, 2)
		if got != want {
			t.Errorf("%s: %s, want %s", eventType, got, want)
		}
		if uri, err := url.Parse(got); err != nil || uri.RawQuery != "v=2" || uri.Fragment != "" {
			t.Errorf("%s: %s is another URI: %v", eventType, got, err)
		}
		if names.TypeOf(eventType) != "com.example."+eventType {
			t.Errorf("the type of %s is %s", eventType, names.TypeOf(eventType))
		}
	}
}
