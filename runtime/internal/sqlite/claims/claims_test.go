package claims

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

func TestClaimsAreReadByTheNextOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &File{path: path}
	must(t, first.Own())
	must(t, first.Clear(3))
	a, b, c := first.Reserve(), first.Reserve(), first.Reserve()
	first.Begin(a, 7, 100, 100, 0)
	first.Begin(b, 7, 101, 101, 0)
	first.Begin(a, 7, 102, 102, 0)
	first.End(a, 102)
	_ = c // never used

	if err := (&File{path: path}).Own(); !errors.Is(err, locks.ErrOwned) {
		t.Errorf("a second owner got %v, want errOwned", err)
	}
	die(t, first)

	second := &File{path: path}
	must(t, second.Own())
	found, _, err := second.Read()
	must(t, err)
	want := []Claim{{Subscription: 7, Highest: 102, Life: 3, turn: 3}, {Subscription: 7, Running: 101, Highest: 101, Life: 3, turn: 1}}
	if len(found) != 2 || found[0] != want[0] || found[1] != want[1] {
		t.Errorf("found %+v, want %+v", found, want)
	}
	must(t, second.Clear(4))
	must(t, second.Release())
	must(t, second.Release())
	if content, err := os.ReadFile(path); err != nil || len(content) != 0 {
		t.Errorf("after an orderly end the file has %d bytes (%v)", len(content), err)
	}
}

func TestMoreWorkersThanAreMappedAreClaimedToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &File{path: path}
	must(t, first.Own())
	must(t, first.Clear(3))
	const workers = mappedLimit/(2*claimSize) + 3
	for n := range int64(workers) {
		first.Begin(first.Reserve(), 1, n+1, n+1, 0)
	}
	die(t, first)
	second := &File{path: path}
	must(t, second.Own())
	defer second.Release()
	found, _, err := second.Read()
	if err != nil || len(found) != workers || found[workers-1].Running != workers {
		t.Errorf("found %d claims (%v), want %d", len(found), err, workers)
	}
}

func TestTornClaimsAreIgnored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	good, torn := make([]byte, claimSize), make([]byte, claimSize)
	Claim{Subscription: 1, Running: 5, Highest: 5}.encode(good)
	Claim{Subscription: 2, Running: 6, Highest: 6}.encode(torn)
	torn[9] ^= 1
	none := make([]byte, claimSize)
	content := slices.Concat(torn, none, good, none, good[:20])
	must(t, os.WriteFile(path, content, 0o600))
	c := &File{path: path}
	must(t, c.Own())
	defer c.Release()
	found, _, err := c.Read()
	if err != nil || len(found) != 1 || found[0].Running != 5 {
		t.Errorf("found %+v (%v), want the good one", found, err)
	}
}

// A worker that is killed while it writes a claim has finished what its other
// claim says, and has not begun what it was about to say.
func TestAClaimThatIsTornLeavesTheOneBefore(t *testing.T) {
	for _, torn := range []int{1, 2, 3, 4} {
		path := filepath.Join(t.TempDir(), "x-claims")
		first := &File{path: path}
		must(t, first.Own())
		must(t, first.Clear(3))
		place := first.Reserve()
		for n := range torn {
			first.Begin(place, 1, int64(n+1), int64(n+1), 0)
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
		if len(found) != 1 || found[0].Running != 0 || found[0].Highest != int64(torn-1) {
			t.Errorf("when claim %d is torn there are %+v, want that %d was begun and nothing runs", torn, found, torn-1)
		}
	}
}

func TestAClaimSaysWhetherItsHandlerWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &File{path: path}
	must(t, first.Own())
	must(t, first.Clear(3))
	place := first.Reserve()
	says := func(running int64, waits bool) {
		t.Helper()
		found, _, err := first.Read()
		must(t, err)
		if _, err := first.file.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].Running != running || found[0].Waits != waits || found[0].Highest != 5 {
			t.Errorf("found %+v, want that 5 was begun, %d runs, and that waiting is %v", found, running, waits)
		}
	}
	first.Begin(place, 1, 5, 5, 0)
	says(5, false)
	first.SetWaiting(place, 5, true)
	says(5, true)
	first.SetWaiting(place, 6, false) // another one
	says(5, true)
	first.SetWaiting(place, 5, false)
	says(5, false)
	first.SetWaiting(place, 5, true)
	first.End(place, 5)
	says(0, false)
	first.SetWaiting(place, 5, true) // too late
	says(0, false)
}

// Whoever cuts the file takes the memory away that it is mapped to.
func TestAWorkerSurvivesThatItsClaimsAreCutAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &File{path: path}
	must(t, first.Own())
	must(t, first.Clear(3))
	place := first.Reserve()
	first.Begin(place, 1, 1, 1, 0)
	must(t, os.Truncate(path, 0))
	first.Begin(place, 1, 2, 2, 0)
	die(t, first)
	if found := claimsIn(t, path); len(found) != 1 || found[0].Running != 2 {
		t.Errorf("found %+v, want the claim after that", found)
	}
}

// A worker that cannot say that it has gone on must not be found where it was.
func TestAClaimThatCannotBeReplacedIsTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &File{path: path}
	must(t, first.Own())
	must(t, first.Clear(3))
	must(t, unmapFile(first.mapped))
	first.mapped = nil
	place := first.Reserve()
	first.Begin(place, 1, 1, 1, 0)
	writable := first.file
	defer writable.Close()
	appending, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0) // which refuses WriteAt
	must(t, err)
	first.file = appending
	first.End(place, 1)
	if found := claimsIn(t, path); len(found) != 0 {
		t.Errorf("found %+v, want nothing", found)
	}
	first.file = writable
	must(t, appending.Close())
	first.Begin(place, 1, 2, 2, 0)
	if found := claimsIn(t, path); len(found) != 1 || found[0].Running != 2 {
		t.Errorf("found %+v, want the claim that could be written again", found)
	}
}

// claimsIn reads past the lock.
func claimsIn(t *testing.T, path string) []Claim {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	found, _, err := (&File{file: file}).Read()
	must(t, err)
	return found
}

// die gives up the file as the death of the process does.
func die(t *testing.T, c *File) {
	t.Helper()
	must(t, unmapFile(c.mapped))
	must(t, c.file.Close())
}

func TestLookingForTheOwnerDoesNotKeepOneFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x-claims")
		looking, err := locks.OpenLocked(path)
		must(t, err)
		time.AfterFunc(locks.LookTime/2, func() { looking.Close() })
		starting := &File{path: path}
		must(t, starting.Own())
		defer starting.Release()
		if err := (&File{path: path}).Own(); !errors.Is(err, locks.ErrOwned) {
			t.Errorf("a second owner got %v, want errOwned", err)
		}
	})
}

func TestWhatAProcessSaysOfItselfIsReadWhileItLives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	first := &File{path: path}
	must(t, first.Own())
	must(t, first.Clear(3))
	says := func(want Process) {
		t.Helper()
		if left, got := Left(path); got != want || len(left) != 0 {
			t.Errorf("it says %+v of itself, want %+v; the claims of workers are %+v", got, want, left)
		}
	}
	says(Process{})
	first.SetFault(2)
	says(Process{Fault: 2})
	first.SetAge(Young)
	says(Process{Age: Young, Fault: 2})
	first.SetFault(0)
	says(Process{Age: Young})
	first.SetAge(Grown)
	says(Process{})
	must(t, first.Release())
}
