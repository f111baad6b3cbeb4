package catalogue

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/cli/clitest"
)

func TestGenerateWatchesTheCatalogue(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": simple})
	inGit(t, nil) // in which events may go that are not checked in yet
	watching(t, "--watch", func(says func(stdout, stderr string)) {
		says("shop: 1 event, ", "")
		says("", "") // nothing has changed

		changed(t, simple+"  order.paid: {}\n")
		says("shop: 2 events, ", "")
		changed(t, broken)
		says("", "busgen: 2 errors in events.yaml; nothing was written\n")
		os.Remove("events.yaml")
		says("", "busgen: there is no events.yaml in this folder")
		changed(t, simple)
		says("shop: 1 event, ", "")
	})
}

// watching runs a command line beside f, in virtual time, and interrupts it when f
// returns. says waits a second, and wants this at the beginning of stdout, and
// this once on stderr.
func watching(t *testing.T, line string, f func(says func(stdout, stderr string))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		var out, errs clitest.Output
		status := make(chan int, 1)
		go func() { status <- run(ctx, strings.Fields(line), strings.NewReader(""), &out, &errs) }()
		f(func(stdout, stderr string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			if got := out.Take(); stdout == "" && got != "" || !strings.HasPrefix(got, stdout) {
				t.Errorf("stdout has %q, want %q", got, stdout)
			}
			if got := errs.Take(); stderr == "" && got != "" || strings.Count(got, stderr) != 1 && stderr != "" {
				t.Errorf("stderr has %q, want %q once", got, stderr)
			}
		})
		interrupt()
		if got := <-status; got != 0 {
			t.Errorf("status %d", got)
		}
	})
}

func TestGenerateWatchesWhatTheCatalogueIncludes(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": "version: 1\npackage: shop\ninclude: [\"team*.yaml\"]\n", "team1.yaml": "version: 1\nevents: { order.placed: {} }\n"})
	inGit(t, nil)
	watching(t, "--watch", func(says func(stdout, stderr string)) {
		says("shop: 1 event, ", "")
		says("", "") // nothing has changed
		changedFile(t, "team1.yaml", "version: 1\nevents: { order.placed: {}, order.paid: {} }\n")
		says("shop: 2 events, ", "")
		changedFile(t, "team2.yaml", "version: 1\nevents: { user.left: {} }\n")
		says("shop: 3 events, ", "")
		changedFile(t, "team2.yaml", "version: 1\nevnts: { user.left: {} }\n")
		says("", "busgen: 1 error in events.yaml; nothing was written\n")
		os.Remove("team2.yaml")
		says("shop: 2 events, ", "")
	})
}

// A catalogue that does not exist is reported once, and generated when it is there.
func TestGenerateReportsAMissingCatalogueOnce(t *testing.T) {
	inFolder(t, nil)
	watching(t, "generate --watch none.yaml", func(says func(stdout, stderr string)) {
		says("", "busgen: there is no catalogue at none.yaml")
		says("", "")
		changedFile(t, "none.yaml", simple)
		says("shop: 1 event, ", "")
	})
}

// To get deleted files back, it is enough to save the catalogue again.
func TestGenerateWritesDeletedFilesAgain(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": simple})
	watching(t, "generate --watch", func(says func(stdout, stderr string)) {
		says("shop: 1 event, ", "")
		must(t, os.Remove("payloads.gen.go"))
		says("", "")
		changed(t, simple)
		says("shop: 1 event, ", "")
		read(t, "payloads.gen.go")
		says("", "")
	})
}

// A file that is another at every look is left alone until it is not.
func TestAFileThatIsBeingWrittenIsLeftToSettle(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": simple})
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		var out clitest.Output
		var rounds atomic.Int32
		done := make(chan error, 1)
		go func() {
			done <- whenChanged(ctx, "events.yaml", func() (string, error) { rounds.Add(1); return "", nil }, &out, &out)
		}()
		synctest.Wait()
		for i := range 5 {
			changed(t, simple+strings.Repeat("#\n", i+1))
			time.Sleep(lookEvery)
			synctest.Wait()
		}
		if rounds.Load() != 1 {
			t.Errorf("%d rounds while the file was written, want the first only", rounds.Load())
		}
		time.Sleep(3 * lookEvery)
		synctest.Wait()
		if rounds.Load() != 2 {
			t.Errorf("%d rounds when it was written, want 2", rounds.Load())
		}
		interrupt()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// versions makes every version of a file another one, whatever the clock of the
// file system can tell apart.
var versions time.Duration

func changed(t *testing.T, content string) {
	t.Helper()
	changedFile(t, "events.yaml", content)
}

func changedFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	versions += time.Minute
	at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC).Add(versions)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// An interrupt while it waits ends it well. One while it generates does not: what it was to do is not done.
func TestAnInterruptedRoundIsAnErrorOfTheVerb(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": simple})
	for name, during := range map[string]bool{"while it generates": true, "while it waits": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				var out clitest.Output
				done := make(chan error, 1)
				go func() {
					done <- whenChanged(ctx, "events.yaml", func() (string, error) {
						if during {
							<-ctx.Done()
						}
						return "", context.Cause(ctx)
					}, &out, &out)
				}()
				synctest.Wait()
				interrupt()
				if err := <-done; errors.Is(err, context.Canceled) != during {
					t.Errorf("the verb ended with %v", err)
				}
			})
		})
	}
}
