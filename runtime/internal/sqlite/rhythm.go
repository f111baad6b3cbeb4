package sqlite

import "time"

// rhythm decides whether publishers who publish again and again share each sync, or take turns in two halves.
//
// Together they come to half as many syncs. But nobody prepares an event while the disk is waited for, and nothing is
// written while they prepare the next ones. In halves, one prepares while the other one is written. So that is better
// when they need longer to come back than the disk needs for one sync more.
type rhythm struct {
	sync     time.Duration // how long a commit takes, lately
	back     time.Duration // how long those of a transaction take until all are back, lately
	together bool          // all are waited for, so that their time is known
	turns    int           // in halves, since all were waited for
}

const (
	// fewestHalved is how many publishers are worth it: few are back before they were missed.
	fewestHalved = 32
	// turnsHalved is after how many transactions all are waited for, to see how long they take now.
	turnsHalved = 256
)

// committed notes how long a commit has taken.
func (r *rhythm) committed(took time.Duration) { r.sync = lately(r.sync, took) }

// waited notes how long it took until those were back whom next had said.
func (r *rhythm) waited(took time.Duration) {
	if r.together {
		r.back = lately(r.back, took)
	}
}

// next returns how many publishers the next transaction waits for, after one for so many, while others have queued.
func (r *rhythm) next(size, queued int) int {
	all := size + queued
	r.together = true
	if all < fewestHalved || r.back <= r.sync {
		r.turns = 0
		return size
	}
	switch r.turns++; r.turns {
	case turnsHalved:
		r.together = false // some of them have come back long ago
		return all
	case turnsHalved + 1:
		r.turns = 0
		return size
	}
	r.together = false
	return (all + 1) / 2
}

// lately is a moving average.
func lately(before, now time.Duration) time.Duration {
	if before == 0 {
		return now
	}
	return before + (now-before)/4
}
