package buslog

import (
	"cmp"
	"math"
	"slices"
)

// flights are the deliveries of a unit that were polled, or are to be stored, in the order of
// their events. Nearly all come at the end and go at the front. They are guarded by the log's
// mu.
type flights struct{ all []*flight }

func (fs *flights) find(seq int64) (at int, found bool) {
	if n := len(fs.all); n == 0 || fs.all[n-1].record.Seq < seq {
		return n, false
	}
	return slices.BinarySearchFunc(fs.all, seq, func(f *flight, seq int64) int { return cmp.Compare(f.record.Seq, seq) })
}

// of returns the flight of an event, or nil.
func (fs *flights) of(seq int64) *flight {
	if at, found := fs.find(seq); found {
		return fs.all[at]
	}
	return nil
}

// add puts a flight in, of an event that has none.
func (fs *flights) add(f *flight) {
	at, _ := fs.find(f.record.Seq)
	f.known, fs.all = true, slices.Insert(fs.all, at, f)
}

// forget takes a flight out: it is stored, not of this process any more, or comes again. The
// caller has shut the lane.
func (fs *flights) forget(f *flight) {
	f.known = false
	if at, found := fs.find(f.record.Seq); found && fs.all[at] == f {
		fs.all = slices.Delete(fs.all, at, at+1)
	}
}

// sweep takes those out that have been marked as not known.
func (fs *flights) sweep() { fs.sweepTo(math.MaxInt64) }

// sweepTo is sweep for those of events up to last: of the others none has been marked.
func (fs *flights) sweepTo(last int64) {
	end, found := fs.find(last)
	if found {
		end++
	}
	left := slices.DeleteFunc(fs.all[:end], func(f *flight) bool { return !f.known })
	fs.all = slices.Delete(fs.all, len(left), end)
}
