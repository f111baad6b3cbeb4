// Command steps measures steps of busgen beside those of DBOS, each in a SQLite file, on this machine, in turns:
//
//	go run .
//
// The flow is the same: six steps, two of which write a row. A flow has ended when its caller knows that. Both files
// are in WAL mode with synchronous=FULL, so each step that has returned survives a power cut. DBOS sets NORMAL by
// itself, which a row of its own shows: the newest steps are lost with the power.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A contestant opens its shop in a file.
type contestant struct {
	name string
	open func(ctx context.Context, path string, do world) (shop, error)
}

func dbosWith(synced string, connections int) func(context.Context, string, world) (shop, error) {
	return func(ctx context.Context, path string, do world) (shop, error) {
		return openDBOS(ctx, path, do, synced, connections)
	}
}

// DBOS opens eight connections by itself. With one, none waits for the lock of another.
var contestants = []contestant{
	{"busgen", openBusgen},
	{"DBOS", dbosWith("full", 8)},
	{"DBOS, one connection", dbosWith("full", 1)},
	{"DBOS, synchronous=NORMAL", dbosWith("normal", 8)},
}

// What the processes of a crash are told.
const (
	childName = "BUSGEN_STEPS_CHILD" // of the contestant; the program is a child if it is set
	childFile = "BUSGEN_STEPS_FILE"
	childDies = "BUSGEN_STEPS_DIES" // after how many effects the process kills itself; 0 in the one that goes on
)

// A crash has so many flows at once. Each comes when so many effects have begun.
const crashFlows = 128

var crashes = []int{100, 180, 260, 340, 420}

const crashLimit = 30 * time.Second

func main() {
	ctx := context.Background()
	do := measure
	if os.Getenv(childName) != "" {
		do = beChild
	}
	if err := do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context) error {
	each := flag.Duration("each", 1500*time.Millisecond, "how long one slice is")
	rounds := flag.Int("rounds", 5, "how many slices each has of each case; the median counts")
	folder := flag.String("dir", "", "make the files in this `folder`, on the disk to be measured")
	flag.Parse()
	root, err := os.MkdirTemp(*folder, "busgen-steps-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	perSecond := map[string][2][]float64{}
	for round := range *rounds {
		for i, c := range contestants {
			all := perSecond[c.name]
			for which, callers := range []int{1, 128} {
				path := filepath.Join(root, fmt.Sprint(round, "-", i, "-", callers, ".db"))
				rate, err := flows(ctx, c, path, callers, *each)
				if err != nil {
					return fmt.Errorf("%s, %d at once: %w", c.name, callers, err)
				}
				all[which] = append(all[which], rate)
			}
			perSecond[c.name] = all
		}
	}
	fmt.Print("| | 1 at once | 128 at once | kill | twice |\n|---|--:|--:|--:|--:|\n")
	for i, c := range contestants {
		var seconds, twice []float64
		for j, at := range crashes {
			a, err := crash(ctx, c, filepath.Join(root, fmt.Sprint("crash-", i, "-", j, ".db")), at)
			if err != nil {
				return fmt.Errorf("%s, killed at effect %d: %w", c.name, at, err)
			}
			seconds, twice = append(seconds, a.seconds), append(twice, float64(a.twice))
		}
		fmt.Printf("| %s | %.0f | %.0f | %.1f | %.0f |\n", c.name, median(perSecond[c.name][0]), median(perSecond[c.name][1]),
			median(seconds), median(twice))
	}
	return nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// flows returns how many flows a second end that so many callers begin and wait for.
func flows(ctx context.Context, c contestant, path string, callers int, each time.Duration) (float64, error) {
	s, err := c.open(ctx, path, func(step string, order int64) (Done, error) { return Done{ID: step}, nil })
	if err != nil {
		return 0, err
	}
	counts, errs := make([]int, callers), make([]error, callers)
	began := time.Now()
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			for errs[i] == nil && time.Since(began) < each {
				wait, err := s.begin(ctx, int64(i))
				if err == nil {
					err = wait(ctx)
				}
				errs[i] = err
				counts[i]++
			}
		})
	}
	running.Wait()
	took, ended := time.Since(began), 0
	for _, n := range counts {
		ended += n
	}
	n, err := s.rows(ctx)
	if err == nil && n != rowSteps*ended {
		err = fmt.Errorf("%d flows have written %d rows, and %d were due", ended, n, rowSteps*ended)
	}
	return float64(ended) / took.Seconds(), errors.Join(errors.Join(errs...), err, s.close(ctx))
}

// An aftermath is what became of the flows of a process that was killed.
type aftermath struct {
	seconds float64 // from the start of the next process until all have ended
	twice   int     // effects that came more than once
}

// crash kills a process in the middle of its flows and has another one go on.
func crash(ctx context.Context, c contestant, path string, at int) (a aftermath, err error) {
	child := func(dies int) ([]byte, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, program)
		cmd.Env = append(os.Environ(), childName+"="+c.name, childFile+"="+path, childDies+"="+strconv.Itoa(dies))
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}
	if _, err := child(at); err == nil {
		return a, errors.New("the process that was to kill itself has ended by itself")
	}
	out, err := child(0)
	if err != nil {
		return a, err
	}
	_, err = fmt.Sscan(string(out), &a.seconds, &a.twice)
	return a, err
}

// beChild runs flows until it dies, or goes on with those that were left and says how that was.
func beChild(ctx context.Context) error {
	path := os.Getenv(childFile)
	dies, err := strconv.Atoi(os.Getenv(childDies))
	if err != nil {
		return err
	}
	c := contestants[slices.IndexFunc(contestants, func(c contestant) bool { return c.name == os.Getenv(childName) })]
	j, err := openJournal(path + "-effects")
	if err != nil {
		return err
	}
	all := make(chan struct{}) // closed when all flows have begun
	if dies == 0 {
		close(all)
	}
	opened := time.Now()
	s, err := c.open(ctx, path, func(step string, order int64) (Done, error) {
		<-all
		if n := j.write(step, order); n == dies {
			return Done{}, kill()
		}
		return Done{ID: step}, nil
	})
	if err != nil {
		return err
	}
	if dies > 0 {
		for order := range int64(crashFlows) {
			if _, err := s.begin(ctx, order); err != nil {
				return err
			}
		}
		close(all)
		time.Sleep(crashLimit)
		return nil
	}
	for j.left() > 0 && time.Since(opened) < crashLimit {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(opened)
	rows, err := s.rows(ctx)
	if n := j.left(); err == nil && n > 0 {
		err = fmt.Errorf("%d of %d flows have not ended within %v", n, crashFlows, crashLimit)
	}
	if err == nil && rows != rowSteps*crashFlows {
		err = fmt.Errorf("there are %d rows, and %d were due", rows, rowSteps*crashFlows)
	}
	if err == nil && j.late > 0 {
		err = fmt.Errorf("%d effects came again after their step had returned", j.late)
	}
	fmt.Println(took.Seconds(), j.twice())
	return errors.Join(err, s.close(ctx))
}

// kill ends this process as kill -9 does.
func kill() error {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	_ = p.Kill()
	select {}
}

// A journal is what both processes have done in the world outside, which a kill does not take back.
type journal struct {
	mu      sync.Mutex
	file    *os.File
	times   map[string]int // of an effect of an order
	last    map[int64]int  // the last effect of an order, by its place in effects
	effects int            // in this process
	late    int            // came after a later one, so their step had returned
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, times: map[string]int{}, last: map[int64]int{}}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var what string
		var order int64
		if _, err := fmt.Sscan(lines.Text(), &what, &order); err != nil {
			return nil, fmt.Errorf("the journal has %q: %w", lines.Text(), err)
		}
		j.note(what, order)
	}
	return j, lines.Err()
}

func (j *journal) note(what string, order int64) {
	j.times[fmt.Sprint(what, " ", order)]++
	at := slices.Index([]string{"charge", "print", "invoice", "mail"}, what)
	if at < j.last[order] {
		j.late++
	}
	j.last[order] = max(at, j.last[order])
}

// write notes an effect, and returns how many there were in this process.
func (j *journal) write(what string, order int64) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintln(j.file, what, order)
	j.note(what, order)
	j.effects++
	return j.effects
}

// left returns how many flows have not ended.
func (j *journal) left() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := crashFlows
	for line := range j.times {
		if strings.HasPrefix(line, "mail ") {
			n--
		}
	}
	return n
}

// twice returns how many effects came more than once.
func (j *journal) twice() (twice int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.times {
		if n > 1 {
			twice++
		}
	}
	return twice
}
