package inspect_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// The test binary runs itself as a child that retries dead letters until it is
// killed.

const (
	childMode = "BUSGEN_TEST_CHILD"
	childFile = "BUSGEN_TEST_FILE"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "retrying":
		retryingChild(os.Getenv(childFile))
		return
	case "erasing":
		erasingChild(os.Getenv(childFile))
		return
	}
	os.Exit(m.Run())
}

// retryingChild says
//
//	moved <n>    after every step, how many letters were retried; it waits for an answer
//	finished     at the end
func retryingChild(path string) {
	i, err := inspect.Open(context.Background(), path, inspect.WithActor("child"))
	if err == nil {
		_, err = i.Retry(context.Background(), inspect.Selection{Progress: func(c inspect.Counts) { moved(c.Moved) }})
	}
	if err != nil {
		say("trouble %v", err)
		os.Exit(3)
	}
	say("finished")
}

// moved says how far a child is, and waits until the parent has heard it: a busy machine may
// run the child for a while without the parent.
func moved(n int) {
	say("moved %d", n)
	os.Stdin.Read(make([]byte, 1))
}

func say(format string, args ...any) { os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n") }

// retryAndKill runs a child that is killed a while after so many steps. It
// returns how many letters the child has said to be retried, and whether it has
// finished.
func retryAndKill(t *testing.T, path string, steps int, after time.Duration) (moved int, finished bool) {
	t.Helper()
	return runAndKill(t, "retrying", path, steps, after)
}

// runAndKill is retryAndKill for any child that says the same.
func runAndKill(t *testing.T, mode, path string, steps int, after time.Duration) (moved int, finished bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childFile+"="+path)
	stdout, err := cmd.StdoutPipe()
	Must(t, err)
	stdin, err := cmd.StdinPipe()
	Must(t, err)
	Must(t, cmd.Start())
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		line := scanner.Text()
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "moved":
			moved, _ = strconv.Atoi(rest)
			if steps--; steps == 0 && after == 0 {
				cmd.Process.Kill()
				continue
			} else if steps == 0 {
				time.AfterFunc(after, func() { cmd.Process.Kill() })
			}
			stdin.Write([]byte{'\n'}) // it may be dead
		case "finished":
			finished = true
		default:
			t.Errorf("the child says: %s", line)
		}
	}
	cmd.Wait() // killed, which is not an error here
	return moved, finished
}

func TestABulkRetryThatIsKilledLeavesEveryDeadLetterAsItWasOrRetriedOnce(t *testing.T) {
	short.Skip(t, "processes are killed again and again")
	const n = 2000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := SQLite.OpenJobs(t)
	f.Failing(func(number int) error { return runtime.Permanent(Broken(number)) })
	f.Publish(Numbers(0, n)...)
	f.Stop()

	retried, kills := 0, 0
	for finished := false; !finished; {
		var moved int
		moved, finished = retryAndKill(t, f.Path, 1+random.IntN(4), time.Duration(random.IntN(20_000))*time.Microsecond)
		if !finished {
			kills++
		}
		var dead, waiting, audited int
		_, err := fmt.Sscanf(queryRow(t, f.Path, `
			SELECT count(*) FILTER (WHERE state = 'dead'), count(*) FILTER (WHERE state = 'waiting'),
			       (SELECT coalesce(sum(count), 0) FROM busgen_audit) FROM busgen_deliveries`), "%d|%d|%d", &dead, &waiting, &audited)
		Must(t, err)
		if dead+waiting != n || waiting < retried+moved || waiting != audited {
			t.Fatalf("%d letters are dead and %d wait, of %d; %d and now %d were said to be retried, and %d are in the audit",
				dead, waiting, n, retried, moved, audited)
		}
		retried = waiting
	}
	if kills == 0 {
		t.Error("no child was killed in time")
	}
	t.Logf("%d children were killed", kills)

	f.Repair()
	f.Reopen()
	f.Idle()
	seen := f.Seen()
	if slices.Sort(seen); !slices.Equal(seen, Numbers(0, n)) {
		t.Errorf("%d were handled, want each of %d once", len(seen), n)
	}
}
