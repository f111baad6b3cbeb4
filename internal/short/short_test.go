package short_test

import (
	"testing"

	"github.com/busgen/busgen/internal/short"
)

func TestAFlagSaysMoreThanShort(t *testing.T) {
	n := short.Flag("example.rounds", 40, 6, "how many rounds")
	want := 40
	if testing.Short() {
		want = 6
	}
	if n.N() != want {
		t.Errorf("without the flag it is %d, want %d", n.N(), want)
	}
	if err := n.Set("7"); err != nil || n.N() != 7 {
		t.Errorf("with the flag it is %d, and the error %v, want 7", n.N(), err)
	}
	if err := n.Set("many"); err == nil {
		t.Error("many is a number")
	}
}
