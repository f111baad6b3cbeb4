package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestClaimsAreReadByTheNextOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &claims{path: path}
	must(t, first.own())
	must(t, first.clear(3))
	a, b, c := first.reserve(), first.reserve(), first.reserve()
	first.begin(a, 7, 100, 0)
	first.begin(b, 7, 101, 0)
	first.begin(a, 7, 102, 0)
	first.end(a, 102)
	_ = c // never used

	if err := (&claims{path: path}).own(); !errors.Is(err, errOwned) {
		t.Errorf("a second owner got %v, want errOwned", err)
	}
	die(t, first)

	second := &claims{path: path}
	must(t, second.own())
	found, err := second.read()
	must(t, err)
	want := []claim{{subscription: 7, highest: 102, life: 3, turn: 3}, {subscription: 7, running: 101, highest: 101, life: 3, turn: 1}}
	if len(found) != 2 || found[0] != want[0] || found[1] != want[1] {
		t.Errorf("found %+v, want %+v", found, want)
	}
	must(t, second.clear(4))
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
	must(t, first.clear(3))
	const workers = claimsBytes/claimSize + 3
	for n := range int64(workers) {
		first.begin(first.reserve(), 1, n+1, 0)
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
	none := make([]byte, claimSize)
	content := slices.Concat(torn, none, good, none, good[:20])
	must(t, os.WriteFile(path, content, 0o600))
	c := &claims{path: path}
	must(t, c.own())
	defer c.release()
	found, err := c.read()
	if err != nil || len(found) != 1 || found[0].running != 5 {
		t.Errorf("found %+v (%v), want the good one", found, err)
	}
}

// A worker that is killed while it writes a claim has finished what its other
// claim says, and has not begun what it was about to say.
func TestAClaimThatIsTornLeavesTheOneBefore(t *testing.T) {
	for _, torn := range []int{1, 2, 3, 4} {
		path := filepath.Join(t.TempDir(), "x-claims")
		first := &claims{path: path}
		must(t, first.own())
		must(t, first.clear(3))
		place := first.reserve()
		for n := range torn {
			first.begin(place, 1, int64(n+1), 0)
		}
		first.mapped[(torn%2)*claimSize+9] ^= 1
		die(t, first)
		found := claimsIn(t, path)
		if torn == 1 {
			if len(found) != 0 {
				t.Errorf("found %+v, want nothing", found)
			}
			continue
		}
		if len(found) != 1 || found[0].running != 0 || found[0].highest != int64(torn-1) {
			t.Errorf("when claim %d is torn there are %+v, want that %d was begun and nothing runs", torn, found, torn-1)
		}
	}
}

// Whoever cuts the file takes the memory away that it is mapped to.
func TestAWorkerSurvivesThatItsClaimsAreCutAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &claims{path: path}
	must(t, first.own())
	must(t, first.clear(3))
	place := first.reserve()
	first.begin(place, 1, 1, 0)
	must(t, os.Truncate(path, 0))
	first.begin(place, 1, 2, 0)
	die(t, first)
	if found := claimsIn(t, path); len(found) != 1 || found[0].running != 2 {
		t.Errorf("found %+v, want the claim after that", found)
	}
}

// A worker that cannot say that it has gone on must not be found where it was.
func TestAClaimThatCannotBeReplacedIsTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &claims{path: path}
	must(t, first.own())
	must(t, first.clear(3))
	must(t, unmapFile(first.mapped))
	first.mapped = nil
	place := first.reserve()
	first.begin(place, 1, 1, 0)
	writable := first.file
	defer writable.Close()
	appending, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0) // which refuses WriteAt
	must(t, err)
	first.file = appending
	first.end(place, 1)
	if found := claimsIn(t, path); len(found) != 0 {
		t.Errorf("found %+v, want nothing", found)
	}
	first.file = writable
	must(t, appending.Close())
	first.begin(place, 1, 2, 0)
	if found := claimsIn(t, path); len(found) != 1 || found[0].running != 2 {
		t.Errorf("found %+v, want the claim that could be written again", found)
	}
}

// claimsIn reads past the lock.
func claimsIn(t *testing.T, path string) []claim {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	found, err := (&claims{file: file}).read()
	must(t, err)
	return found
}

// die gives up the file as the death of the process does.
func die(t *testing.T, c *claims) {
	t.Helper()
	must(t, unmapFile(c.mapped))
	must(t, c.file.Close())
}

func TestLookingForTheOwnerDoesNotKeepOneFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x-claims")
		looking, err := openLocked(path)
		must(t, err)
		time.AfterFunc(lookTime/2, func() { looking.Close() })
		starting := &claims{path: path}
		must(t, starting.own())
		defer starting.release()
		if err := (&claims{path: path}).own(); !errors.Is(err, errOwned) {
			t.Errorf("a second owner got %v, want errOwned", err)
		}
	})
}
