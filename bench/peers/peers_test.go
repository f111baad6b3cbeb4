package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(childPeer) != "" {
		os.Exit(beChild(context.Background()))
	}
	os.Exit(m.Run())
}

// tiny is enough to see that everything runs.
var tiny = scale{
	publish: 20 * time.Millisecond, slow: 20, samples: 2, done: 500,
	limit: 20 * time.Second, crash: 20 * time.Second,
}

func eachPeer(t *testing.T, test func(t *testing.T, p peer, tuned bool)) {
	for _, p := range peers {
		for _, tuned := range []bool{false, true} {
			t.Run(row{peer: p, tuned: tuned}.title(), func(t *testing.T) { test(t, p, tuned) })
		}
	}
}

func TestEachPeerHandlesWhatIsPublishedWithItsNumber(t *testing.T) {
	eachPeer(t, func(t *testing.T, p peer, tuned bool) {
		subscribers := 1
		if p.fanOut {
			subscribers = 3
		}
		var mu sync.Mutex
		handled := map[string]int{}
		all := make(chan struct{})
		const n = 20
		s, err := p.open(t.Context(), filepath.Join(t.TempDir(), "peer.db"), setup{
			tuned: tuned, subscribers: subscribers,
			handle: func(_ context.Context, subscriber int, number int64) error {
				mu.Lock()
				defer mu.Unlock()
				handled[fmt.Sprint(subscriber, " ", number)]++
				if len(handled) == n*subscribers {
					close(all)
				}
				return nil
			},
		})
		must(t, err)
		must(t, s.start(t.Context()))
		for number := range int64(n) {
			must(t, s.publish(t.Context(), number+1))
		}
		<-all
		must(t, s.close())
		for subscriber := range subscribers {
			for number := 1; number <= n; number++ {
				if times := handled[fmt.Sprint(subscriber, " ", number)]; times != 1 {
					t.Errorf("subscriber %d has handled event %d %d times", subscriber, number, times)
				}
			}
		}
	})
}

func TestAUsedFileHasManyEventsAndNoneOfThemComesAgain(t *testing.T) {
	eachPeer(t, func(t *testing.T, p peer, tuned bool) {
		if p.multiply == nil {
			t.Skip("it keeps nothing that is handled")
		}
		m := measurement{peer: p, tuned: tuned, scale: tiny, root: t.TempDir()}
		err := m.use(t.Context())
		if err == errNotKept {
			t.Skip(err)
		}
		must(t, err)
		if info, err := os.Stat(m.path); err != nil || info.Size() < 50*int64(tiny.done) {
			t.Errorf("the file has %d bytes for %d events: %v", info.Size(), tiny.done, err)
		}
		handled := make(chan int64, tiny.done)
		s, err := m.open(t.Context(), 1, func(_ context.Context, _ int, number int64) error {
			handled <- number
			return nil
		})
		must(t, err)
		must(t, s.start(t.Context()))
		must(t, s.publish(t.Context(), 7))
		if number := <-handled; number != 7 {
			t.Errorf("event %d came, want the new one", number)
		}
		must(t, s.close())
		if n := len(handled); n > 0 {
			t.Errorf("%d events came besides", n)
		}
	})
}

func TestAnEventIsHandledAgainAfterAKill(t *testing.T) {
	eachPeer(t, func(t *testing.T, p peer, tuned bool) {
		if p.name == "River" {
			t.Skip("it takes 20 seconds and more")
		}
		m := measurement{peer: p, tuned: tuned, scale: tiny, root: t.TempDir()}
		r, err := crash(t.Context(), &m)
		must(t, err)
		if strings.Contains(r.text, "not within") || !tuned && p.again > 0 != strings.HasPrefix(r.text, "after ") {
			t.Errorf("after a kill: %s", r.text)
		}
	})
}

func TestAFileThatIsNotSyncedIsRefused(t *testing.T) {
	for _, library := range []string{mattn, modernc} {
		db, err := openDatabase(library, filepath.Join(t.TempDir(), "peer.db"), 1)
		must(t, err)
		must(t, requireSynced(db))
		_, err = db.Exec("PRAGMA synchronous = NORMAL")
		must(t, err)
		if err := requireSynced(db); err == nil || err.Error() != `synchronous is "1" and should be "2"` {
			t.Errorf("%s with synchronous=NORMAL: %v", library, err)
		}
		must(t, db.Close())
	}
}

func TestTheTableHasAllCasesOfAllPeers(t *testing.T) {
	var selected []peer
	for _, p := range peers {
		if p.name == "outbox" || p.name == "busgen" {
			selected = append(selected, p)
		}
	}
	var out, progress bytes.Buffer
	must(t, measureAll(t.Context(), selected, tiny, t.TempDir(), &out, &progress))
	var header string
	lines := 0
	for line := range strings.Lines(out.String()) {
		switch {
		case strings.HasPrefix(line, "| | publish-1 |"):
			header = line
		case header != "" && strings.HasPrefix(line, "| outbox |") || strings.HasPrefix(line, "| busgen, tuned |"):
			lines++
		}
	}
	if strings.Count(header, "|") != len(cases)+2 || lines != 3 {
		t.Errorf("%d rows below %q:\n%s", lines, header, out.String())
	}
	for _, want := range []string{"go-sqlite3 v", "not synced by itself", "crash: a process", "(500 of them)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}

func TestAPeerThatFailsIsAnError(t *testing.T) {
	broken := peer{name: "broken", open: func(context.Context, string, setup) (system, error) {
		return nil, fmt.Errorf("no such module")
	}}
	err := measureAll(t.Context(), []peer{broken}, tiny, t.TempDir(), &bytes.Buffer{}, &bytes.Buffer{})
	if err == nil || err.Error() != "broken, publish-1: no such module" {
		t.Errorf("measureAll: %v", err)
	}
}

// A reader who doubts a row finds there what it was measured with, and where that comes from.
func TestTheHelpSaysHowEachPeerIsSet(t *testing.T) {
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &bytes.Buffer{}, &stderr); code != 0 {
		t.Errorf("exit status %d", code)
	}
	for _, p := range peers {
		for _, text := range []string{p.name, p.versions(), p.defaults, p.tuned, p.syncs, p.notes, p.docs} {
			if text == "" || !strings.Contains(stderr.String(), text) {
				t.Errorf("%s: there is no %q in the help", p.name, text)
			}
		}
	}
	if !strings.Contains(stderr.String(), "-only regexp") {
		t.Errorf("the flags are missing:\n%s", stderr.String())
	}
}

// repeating hands each event to its subscriber three times.
type repeating struct{ s setup }

func (repeating) start(context.Context) error { return nil }
func (repeating) close() error                { return nil }
func (r repeating) publish(ctx context.Context, number int64) error {
	for range 3 {
		if err := r.s.handle(ctx, 0, number); err != nil {
			return err
		}
	}
	return nil
}

func TestAnEventThatIsHandledTwiceCountsOnce(t *testing.T) {
	const events, takes = 200, 5 * time.Millisecond
	p := peer{name: "repeating", open: func(_ context.Context, _ string, s setup) (system, error) { return repeating{s}, nil }}
	m := measurement{peer: p, scale: tiny, root: t.TempDir()}
	r, err := m.endToEnd(t.Context(), load{events: events}, 1, takes)
	must(t, err)
	// Each publisher sleeps three times for each event.
	if most := endToEndPublishers / (3 * takes).Seconds(); r.perSecond > most {
		t.Errorf("%.0f events per second, and there cannot be more than %.0f", r.perSecond, most)
	}
}

func TestArgumentsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-only", "("}, {"River"}, {"-done", "0"}, {"-fast"}} {
		var stderr bytes.Buffer
		if code := run(t.Context(), args, &bytes.Buffer{}, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit status %d, %q", args, code, stderr.String())
		}
	}
}

func TestNumbersHaveTwoOrThreeDigitsThatMeanSomething(t *testing.T) {
	for value, want := range map[float64]string{
		0.04: "0.0", 9.94: "9.9", 64.6: "65", 999: "999", 1234: "1,230", 9999: "10,000", 12_345: "12,300", 1_000_000: "1,000,000", 1_234_567: "1,234,600",
	} {
		if got := number(value); got != want {
			t.Errorf("number(%v) is %q, want %q", value, got, want)
		}
	}
	failing := fastest([]result{{perSecond: 3, failed: 2}, {perSecond: 1}, {perSecond: 2, failed: 1}})
	if got := failing.String(); got != "3.0 (3 failed)" {
		t.Errorf("the fastest is %s", got)
	}
	for d, want := range map[time.Duration]string{time.Hour: "1 h", 10 * time.Minute: "10 min", 20 * time.Second: "20 s"} {
		if got := words(d); got != want {
			t.Errorf("words(%v) is %q", d, got)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
