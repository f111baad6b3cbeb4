package jetstream

import "testing"

func TestThePasswordOfATargetIsNotShown(t *testing.T) {
	for target, want := range map[string]string{
		"nats://a,b,c/shop":                           "nats://a,b,c/shop",
		"nats://ada:secret@a:4222/shop":               "nats://a:4222/shop",
		"nats://ada:se@cret@a:4222,x:secret@b:1/shop": "nats://a:4222,b:1/shop",
	} {
		if got := redacted(target); got != want {
			t.Errorf("%s is shown as %s", target, got)
		}
	}
}
