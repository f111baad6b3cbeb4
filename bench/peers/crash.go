package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// The events of the crash: they are numbered from 1, and the process dies in the handler of
// one in the middle. Numbers from laterEvents on belong to events that are published after the
// crash.
const (
	crashEvents = 100
	crashAt     = 50
	laterEvents = 1_000_000
	laterEvery  = 200 * time.Millisecond
	quiet       = 500 * time.Millisecond // how long no event begins before a process stops
)

// Environment variables of the processes that handle events of the crash.
const (
	childPeer  = "BUSGEN_PEERS_CHILD" // the name of the peer; the program is a child if it is set
	childFile  = "BUSGEN_PEERS_FILE"
	childTuned = "BUSGEN_PEERS_TUNED"
	childDies  = "BUSGEN_PEERS_DIES"  // set in the process that kills itself
	childLimit = "BUSGEN_PEERS_LIMIT" // of the other one
)

// crash lets a process handle events and kill itself, and another one go on. A journal beside
// the file says what both did.
func crash(ctx context.Context, m *measurement) (result, error) {
	path, err := m.file()
	if err != nil {
		return result{}, err
	}
	if !m.tuned && m.peer.again > m.scale.crash {
		return result{text: "after " + words(m.peer.again)}, nil
	}
	// It has a subscriber, which is not started.
	s, err := m.open(ctx, 1, func(context.Context, int, int64) error { return errors.New("nothing was started") })
	if err != nil {
		return result{}, err
	}
	for number := range int64(crashEvents) {
		if err := s.publish(ctx, number+1); err != nil {
			return result{}, err
		}
	}
	if err := s.close(); err != nil {
		return result{}, err
	}
	if err := m.child(ctx, true); err == nil {
		return result{}, fmt.Errorf("the process that was to kill itself has ended by itself")
	}
	if err := m.child(ctx, false); err != nil {
		return result{}, err
	}
	j, err := readJournal(path)
	if err != nil {
		return result{}, err
	}
	return result{text: j.text(m.scale.crash)}, nil
}

// child runs this program as a process that handles events until it dies or nothing is left.
func (m *measurement) child(ctx context.Context, dies bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program)
	c.Env = append(os.Environ(), childPeer+"="+m.peer.name, childFile+"="+m.path, childLimit+"="+m.scale.crash.String())
	if m.tuned {
		c.Env = append(c.Env, childTuned+"=1")
	}
	if dies {
		c.Env = append(c.Env, childDies+"=1")
	}
	c.Stderr = os.Stderr
	return c.Run()
}

// beChild is the main of such a process.
func beChild(ctx context.Context) int {
	if err := handleBesideCrash(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "peers: the process of %s: %v\n", os.Getenv(childPeer), err)
		return 1
	}
	return 0
}

func handleBesideCrash(ctx context.Context) error {
	path, dies := os.Getenv(childFile), os.Getenv(childDies) != ""
	limit, err := time.ParseDuration(os.Getenv(childLimit))
	if err != nil {
		return err
	}
	journal, err := os.OpenFile(journalOf(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer journal.Close()
	before, err := readJournal(path)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	ended, last := before.ended, time.Now()
	say := func(what string, number int64) {
		mu.Lock()
		defer mu.Unlock()
		last = time.Now()
		if what == "end" && number <= crashEvents {
			ended[number] = true
		}
		fmt.Fprintln(journal, what, number, last.UnixMicro())
	}
	index := 0
	for peers[index].name != os.Getenv(childPeer) {
		index++
	}
	say("open", 0)
	s, err := peers[index].open(ctx, path, setup{
		tuned: os.Getenv(childTuned) != "", subscribers: 1,
		handle: func(_ context.Context, _ int, number int64) error {
			if number >= laterEvents {
				return nil
			}
			say("begin", number)
			if dies && number == crashAt {
				kill()
			}
			time.Sleep(slowHandler)
			say("end", number)
			return nil
		},
	})
	if err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	began := time.Now()
	for later := int64(laterEvents); time.Since(began) < limit; later++ {
		time.Sleep(laterEvery)
		mu.Lock()
		over := len(ended) == crashEvents && time.Since(last) > quiet
		mu.Unlock()
		if over {
			break
		}
		if !dies {
			// One that finds the file busy is one less.
			_ = s.publish(ctx, later)
		}
	}
	return s.close()
}

// kill ends this process as kill -9 does.
func kill() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

// A journal is what the handlers of both processes have written down.
type journal struct {
	begun  map[int64]int // how often handlers of an event began
	ended  map[int64]bool
	opened time.Time // of the last process
	again  time.Time // when that began the event of the crash; zero if it did not
}

func journalOf(path string) string { return path + "-journal-of-handlers" }

func readJournal(path string) (*journal, error) {
	j := &journal{begun: map[int64]int{}, ended: map[int64]bool{}}
	f, err := os.Open(journalOf(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var what string
		var number, at int64
		if _, err := fmt.Sscan(lines.Text(), &what, &number, &at); err != nil {
			return nil, fmt.Errorf("the journal has %q: %w", lines.Text(), err)
		}
		switch what {
		case "open":
			j.opened, j.again = time.UnixMicro(at), time.Time{}
		case "begin":
			j.begun[number]++
			if number == crashAt && j.again.IsZero() {
				j.again = time.UnixMicro(at)
			}
		case "end":
			j.ended[number] = true
		}
	}
	return j, lines.Err()
}

// text says how long it took and how many came twice, and which never came within the limit.
func (j *journal) text(limit time.Duration) string {
	twice := 0
	for _, n := range j.begun {
		if n > 1 {
			twice++
		}
	}
	again := "not within " + words(limit)
	if !j.again.IsZero() {
		again = number(j.again.Sub(j.opened).Seconds())
	}
	missing := ""
	if n := crashEvents - len(j.ended); n > 0 {
		missing = fmt.Sprintf(", and %d not within %s", n, words(limit))
	}
	return fmt.Sprintf("%s / %d%s", again, twice, missing)
}

// words prints a duration for a table.
func words(d time.Duration) string {
	return strings.NewReplacer("h0m0s", " h", "m0s", " min", "s", " s").Replace(d.String())
}
