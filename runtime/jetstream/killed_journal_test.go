//go:build unix

package jetstream_test

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// journal is what processes have said.
type journal struct {
	mu      sync.Mutex
	said    map[string]map[int]int // how often, by the word and the number of an order
	highest int                    // the greatest number that was tried
	last    time.Time              // of the last acknowledgement
	longest time.Duration          // between two of them
	errors  map[string]int
	done    bool
}

func newJournal() *journal {
	return &journal{said: map[string]map[int]int{}, errors: map[string]int{}, highest: -1}
}

// hear takes a line.
func (j *journal) hear(line string) {
	word, rest, _ := strings.Cut(line, " ")
	j.mu.Lock()
	defer j.mu.Unlock()
	switch word {
	case "published":
		j.done = true
		return
	case "error":
		if len(rest) > 160 {
			rest = rest[:160]
		}
		j.errors[rest]++
		return
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return
	}
	if j.said[word] == nil {
		j.said[word] = map[int]int{}
	}
	j.said[word][n]++
	switch word {
	case "tried":
		j.highest = max(j.highest, n)
	case "acknowledged":
		now := time.Now()
		if !j.last.IsZero() {
			j.longest = max(j.longest, now.Sub(j.last))
		}
		j.last = now
	}
}

// finished reports whether everything is published.
func (j *journal) finished() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done
}

// count returns for how many orders something was said.
func (j *journal) count(word string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.said[word])
}

// first returns an order for which something was said, or another number.
func (j *journal) first(word string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	for n := range j.said[word] {
		return n
	}
	return -1
}
