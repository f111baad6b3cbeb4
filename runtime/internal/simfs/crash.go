package simfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sectorSize is the unit that a disk writes whole or not at all.
const sectorSize = 512

// Crash returns what the disk may hold if the power fails now. It holds everything
// that was synced. For each later change, seed decides: it is there, it is missing,
// or only some of its sectors are there while others hold zeros or garbage. A change
// may be there although an earlier one is missing. Files that were created or
// deleted since the last sync of names are so up to a point that seed chooses.
func (f *FS) Crash(seed uint64) Image {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	left := maps.Clone(f.folder.durable)
	for _, n := range f.folder.pending[:r.IntN(len(f.folder.pending)+1)] {
		n.apply(left)
	}
	image := Image{}
	for _, name := range names(left) {
		image[name] = left[name].crash(newMood(r))
	}
	return image
}

// mood holds the probabilities with which a disk treats one file's changes. A disk
// that loses everything, or very little, finds other mistakes than one that loses
// half.
type mood struct {
	*rand.Rand
	keep, tear, garble float64 // probabilities
}

func newMood(r *rand.Rand) mood {
	pick := func(of ...float64) float64 { return of[r.IntN(len(of))] }
	return mood{r, pick(0, 0.1, 0.5, 0.9, 1), pick(0, 0.1, 0.5), pick(0, 0.1)}
}

func (m mood) chance(p float64) bool { return m.Float64() < p }

// crash returns the contents of a file after a power cut.
func (d *disk) crash(m mood) []byte {
	content := slices.Clone(d.durable)
	for _, c := range d.pending {
		switch {
		case c.data != nil && m.chance(m.tear):
			for _, part := range c.sectors() {
				if m.chance(m.keep) {
					content = part.apply(content)
				} else if m.chance(m.garble) {
					content = part.garbled(m).apply(content)
				}
			}
		case m.chance(m.keep):
			content = c.apply(content)
		}
	}
	return content
}

// sectors splits a write at the sectors of the disk.
func (c change) sectors() (parts []change) {
	for len(c.data) > 0 {
		n := min(sectorSize-int(c.at%sectorSize), len(c.data))
		parts = append(parts, change{at: c.at, data: c.data[:n]})
		c.at, c.data = c.at+int64(n), c.data[n:]
	}
	return parts
}

// garbled returns a write of zeros or noise at the same place. File systems show
// such bytes in space that was allocated but never filled.
func (c change) garbled(m mood) change {
	noise := make([]byte, len(c.data))
	if m.chance(0.5) {
		for i := range noise {
			noise[i] = byte(m.Uint32())
		}
	}
	return change{at: c.at, data: noise}
}
