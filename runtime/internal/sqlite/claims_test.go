package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestClaimsAreReadByTheNextOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &claims{path: path}
	must(t, first.own())
	must(t, first.clear())
	a, b, c := first.reserve(), first.reserve(), first.reserve()
	first.begin(a, 7, 100)
	first.begin(b, 7, 101)
	first.begin(a, 7, 102)
	first.idle(a)
	_ = c // never used

	if err := (&claims{path: path}).own(); !errors.Is(err, errOwned) {
		t.Errorf("a second owner got %v, want errOwned", err)
	}
	die(t, first)

	second := &claims{path: path}
	must(t, second.own())
	found, err := second.read()
	must(t, err)
	want := []claim{{subscription: 7, running: 0, highest: 102}, {subscription: 7, running: 101, highest: 101}}
	if len(found) != 2 || found[0] != want[0] || found[1] != want[1] {
		t.Errorf("found %+v, want %+v", found, want)
	}
	must(t, second.clear())
	must(t, second.release())
	must(t, second.release())
	if content, err := os.ReadFile(path); err != nil || len(content) != 0 {
		t.Errorf("after an orderly end the file has %d bytes (%v)", len(content), err)
	}
}

func TestMoreWorkersThanAreMappedAreClaimedToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &claims{path: path}
	must(t, first.own())
	must(t, first.clear())
	const workers = claimsBytes/claimSize + 3
	for n := range int64(workers) {
		first.begin(first.reserve(), 1, n+1)
	}
	die(t, first)
	second := &claims{path: path}
	must(t, second.own())
	defer second.release()
	found, err := second.read()
	if err != nil || len(found) != workers || found[workers-1].running != workers {
		t.Errorf("found %d claims (%v), want %d", len(found), err, workers)
	}
}

func TestTornClaimsAreIgnored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	good, torn := make([]byte, claimSize), make([]byte, claimSize)
	claim{subscription: 1, running: 5, highest: 5}.encode(good)
	claim{subscription: 2, running: 6, highest: 6}.encode(torn)
	torn[9] ^= 1
	content := append(append(append([]byte{}, torn[:]...), good[:]...), good[:20]...)
	must(t, os.WriteFile(path, content, 0o600))
	c := &claims{path: path}
	must(t, c.own())
	defer c.release()
	found, err := c.read()
	if err != nil || len(found) != 1 || found[0].running != 5 {
		t.Errorf("found %+v (%v), want the good one", found, err)
	}
}

// die gives up the file as the death of the process does.
func die(t *testing.T, c *claims) {
	t.Helper()
	must(t, unmapFile(c.mapped))
	must(t, c.file.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
