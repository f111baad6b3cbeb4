package cli

import (
	"strings"
	"testing"
)

func TestAnAddressWithoutAnEngineSaysWhatToInstall(t *testing.T) {
	for target, want := range map[string]string{
		"nats://ada:secret@a,b/shop": "open nats://a,b/shop: this busgen opens files only; install the one that opens nats://, too: " +
			"go install github.com/busgen/busgen/runtime/jetstream/cmd/busgen@latest, or go get -tool ",
		"kafka://a/shop":   "open kafka://a/shop: no busgen opens kafka://; name the file",
		"file:///tmp/a.db": "open file:///tmp/a.db: give the path of the file itself, without file://",
		"shop.db":          "there is no file shop.db",
	} {
		_, err := (Engines)(nil).Open(t.Context(), target)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestThePasswordsOfAnAddressAreNotShown(t *testing.T) {
	for target, want := range map[string]string{
		"nats://a:4222,b/shop":                     "nats://a:4222,b/shop",
		"nats://ada:s@cret@a:4222,bob:x@b:1/shop/": "nats://a:4222,b:1/shop/",
		"ada@host.db":                              "ada@host.db",
	} {
		if got := Shown(target); got != want {
			t.Errorf("%s is shown as %s, want %s", target, got, want)
		}
	}
}
