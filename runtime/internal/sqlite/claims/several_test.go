package claims

import (
	"os"
	"path/filepath"
	"testing"
)

// startsOf returns workers at places, each with an event from seq on.
func startsOf(c *File, n int, seq int64) (all []Start) {
	for i := range n {
		all = append(all, Start{Place: c.Reserve(), Seq: seq + int64(i), UpTo: seq + int64(i), Executions: i})
	}
	return all
}

// runningIn returns the events that are claimed.
func runningIn(t *testing.T, path string) map[int64]uint16 {
	t.Helper()
	running := map[int64]uint16{}
	for _, one := range claimsIn(t, path) {
		if one.Running != 0 {
			running[one.Running] = one.Executions
		}
	}
	return running
}

func TestEachOfSeveralWorkersHasAClaim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	c := &File{path: path}
	must(t, c.Own())
	must(t, c.Clear(3))
	defer die(t, c)
	all := startsOf(c, 5, 100)
	c.BeginAll(7, all)
	if found := runningIn(t, path); len(found) != 5 || found[100] != 0 || found[104] != 4 {
		t.Errorf("claimed are %v, want 100 to 104", found)
	}
	c.End(all[1].Place, 101)
	c.Begin(all[1].Place, 7, 200, 200, 0)
	c.EndAll(all[:4]) // the second is busy with something else by now
	if found := runningIn(t, path); len(found) != 2 || found[104] != 4 || found[200] != 0 {
		t.Errorf("claimed are %v, want 104 and 200", found)
	}
	for _, one := range claimsIn(t, path) {
		if one.Subscription != 7 || one.Life != 3 || one.Highest < 100 || one.Batch != (one.Running != 200) {
			t.Errorf("a claim is %+v", one)
		}
	}
}

func TestSeveralWorkersSurviveThatTheirClaimsAreCutAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	c := &File{path: path}
	must(t, c.Own())
	must(t, c.Clear(3))
	all := startsOf(c, 200, 1)
	must(t, os.Truncate(path, 4096)) // the first 64 places are left
	c.BeginAll(7, all)
	found := runningIn(t, path)
	for _, s := range all {
		if _, ok := found[s.Seq]; !ok {
			t.Errorf("the claim of event %d is missing", s.Seq)
		}
	}
	c.EndAll(all)
	if found := runningIn(t, path); len(found) != 0 {
		t.Errorf("still claimed are %v", found)
	}
	die(t, c)
}

// Batches need a place for each of their events.
func TestTheMappingGrowsWithThePlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-claims")
	c := &File{path: path}
	must(t, c.Own())
	must(t, c.Clear(3))
	const first = claimsBytes / (2 * claimSize)
	all := startsOf(c, first, 1)
	c.BeginAll(7, all)
	if len(c.mapped) != claimsBytes {
		t.Errorf("%d bytes are mapped for %d places", len(c.mapped), first)
	}
	more := startsOf(c, 1, first+1)
	if len(c.mapped) != 2*claimsBytes {
		t.Errorf("%d bytes are mapped for a place more", len(c.mapped))
	}
	c.BeginAll(7, more)
	if found := runningIn(t, path); len(found) != first+1 {
		t.Errorf("%d events are claimed, want %d", len(found), first+1)
	}
	c.EndAll(all)
	if found := runningIn(t, path); len(found) != 1 {
		t.Errorf("%d events are claimed, want 1", len(found))
	}
	startsOf(c, mappedLimit/(2*claimSize), 1)
	if len(c.mapped) != mappedLimit {
		t.Errorf("%d bytes are mapped, want %d", len(c.mapped), mappedLimit)
	}
	if found := runningIn(t, path); len(found) != 1 {
		t.Errorf("%d events are claimed after that, want 1", len(found))
	}
	must(t, c.Clear(4)) // for the places that there are
	if len(c.mapped) != mappedLimit {
		t.Errorf("%d bytes are mapped in the next life, want %d", len(c.mapped), mappedLimit)
	}
	die(t, c)
}
