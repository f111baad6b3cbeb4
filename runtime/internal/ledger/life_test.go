package ledger_test

import (
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

var lives = flag.Int("lives", 20_000, "how many random lives TestTheRulesHoldInEveryLife leads; a million takes about a minute")

// bits are decisions, drawn together because that is faster.
type bits uint32

func (b *bits) below(n bits) bits {
	drawn := *b % n
	*b /= n
	return drawn
}

func (b *bits) yes() bool { return b.below(2) == 0 }

// life leads a delivery through random inputs, and says what must never be.
type life struct {
	t     *rapid.T
	r     row
	now   time.Time
	steps []any // what has happened
}

func (l *life) must(holds bool, format string, args ...any) {
	if !holds {
		l.t.Fatalf("%s\nafter %+v\n%+v", fmt.Sprintf(format, args...), l.steps, l.r)
	}
}

// end draws how a turn ends.
func (l *life) end(b *bits) {
	was := l.r
	begun := b.below(4) > 0
	v := engine.Disposition{Kind: engine.DispositionKind(1 + b.below(8)), NotCalled: b.below(4) == 0, Progress: l.r.Progress, Due: l.now.Add(time.Minute)}
	now := ledger.Moment{At: l.now, Due: l.now.Add(time.Duration(b.below(2)) * time.Minute), Paused: b.yes(), Cancelled: l.r.Cancelled && b.below(4) > 0}
	switch v.Kind {
	case engine.Done:
		begun, v.NotCalled = true, false
	case engine.Retry:
		v.Attempt, v.MaxAttempts, begun = failed, int(b.below(3)), true
	case engine.Dead:
		if v.Reason = event.ReasonExpired; begun && b.yes() {
			v.Attempt, v.Reason = failed, event.ReasonMaxAttempts
		}
	case engine.Snooze:
		v.Asked = begun && b.yes()
	case engine.Hold:
		if b.yes() {
			v.Held = &before
		}
	case engine.Discard:
		v.Cancelled = l.r.Cancelled && b.yes()
		v.Reason = "why"
	}
	if v.Kind != engine.Done && b.below(4) == 0 {
		v.Progress += "a"
	}
	var e ledger.Effects
	l.steps = append(l.steps, v, begun)
	if l.r.Cancelled && !now.Cancelled { // somebody has undone it
		l.r = l.r.Restore(l.now)
		was = l.r
	}
	l.r, e = l.r.After(begun, &v, now)
	called := begun && !v.NotCalled && v.Kind != engine.Release
	l.must(l.r.Suspect() || !was.Suspect() || called, "a suspect is none any more, and its handler was not called")
	l.must(!l.r.Suspect() || was.Suspect(), "a turn has made a suspect")
	l.must(e.Unchanged || e.Settled == !l.r.State.Open(), "settled: %v", e.Settled)
	l.must(!e.Unchanged || l.r == was && !begun, "it is unchanged, and was %+v", was)
	l.must(l.r.Failures == was.Failures || e.Attempt != nil || l.r.Failures == 0, "a failure counts without an attempt")
	l.must(!begun || v.Kind == engine.Done || l.r.Number() > was.Number(), "an execution may have happened, and the next one has no number of its own")
	l.must(!l.r.State.Open() || l.r.Due.After(l.now) || l.r.State == ledger.Held || e.Again, "it is due, and nobody is woken")
	if v.Kind != engine.Done {
		l.must(l.r.Progress == v.Progress, "its progress is lost")
	}
}

// crash draws what was at work when the process died.
func (l *life) crash(b *bits) {
	was := l.r
	claims := []claim{{Unit: "a", Together: l.r.Together, Batch: b.yes(), Waits: b.below(4) == 0}}
	for range b.below(4) {
		claims = append(claims, claim{Unit: "a", Batch: claims[0].Batch, Waits: b.below(4) == 0, Together: int(b.below(3))})
	}
	v := ledger.Judge(claims, ledger.Others{}, b.below(4) > 0)[0]
	unknown := int(b.below(3)) - 1
	first := time.Time{}
	if b.yes() {
		first = before
	}
	var e ledger.Effects
	l.steps = append(l.steps, v, unknown)
	l.r, e = l.r.Crash(v, unknown, first, l.now)
	l.must(l.r.Failures == was.Failures || v.How == ledger.Alone && unknown >= 0, "a crash counts at once that was not alone")
	l.must(l.r.Failures <= was.Failures+2, "%d crashes count", l.r.Failures-was.Failures)
	l.must(!was.State.Open() || unknown < 0 || l.r.Number() > was.Number(), "an execution may have happened, and the next one has no number of its own")
	l.must(!was.Suspect() || l.r.Suspect(), "a crash has cleared a suspect")
	l.must(was.State.Open() == l.r.State.Open(), "a crash has settled it, or begun it again")
	l.must(e.Crash == (v.How != ledger.Waited && unknown >= 0 && was.State.Open()), "reported: %v", e.Crash)
	l.must(!v.Again || v.Together <= max(1, was.Together/2+1), "a half is not halved")
}

// operate draws what somebody does.
func (l *life) operate(b *bits) {
	was, what := l.r, ""
	switch b.below(14) {
	case 0:
		l.r, what = l.r.Cancel("why"), "cancel"
	case 1:
		l.r, what = l.r.Discard("why", l.now), "discard"
	case 2:
		l.r, what = l.r.Restore(l.now), "restore"
		if was.Was != nil && was.Restorable() {
			l.must(l.r.State == ledger.Dead && l.r.Reason == was.Was.Reason, "the dead letter is not what it was")
		}
	case 3:
		l.r, what = l.r.Revive(true, l.now), "retry"
		l.must(was.State != ledger.Dead || l.r.Redriven == 0, "redriven %d times", l.r.Redriven)
	case 4:
		l.r, what = l.r.Revive(false, l.now), "redrive"
		l.must(was.State != ledger.Dead || l.r.Redriven == was.Redriven+1, "redriven %d times", l.r.Redriven)
	case 5:
		l.r, what = l.r.Replay(l.now), "replay"
	case 6:
		old, made := l.r.Edit("id", l.now)
		l.must(made.Suspect() == l.r.Suspect(), "suspect: %v", made.Suspect())
		if l.r.State == ledger.Dead && b.below(4) == 0 {
			l.r = old
		}
		what = "edit"
	case 7:
		what = "purge"
		if b.below(4) == 0 {
			l.r = l.r.Purge(l.now)
		}
	case 8:
		what = "erase"
		if b.below(4) == 0 {
			l.r = l.r.Erase(l.now)
		}
	case 9:
		l.r, what = l.r.SetBack(time.Second), "clock set back"
	case 10:
		l.r, what = l.r.Resume(), "resume"
		l.must(l.r.State != ledger.Held || !l.r.HeldSince.IsZero(), "it is held without a pause")
	case 11:
		l.r, what = l.r.TakenOver(), "take-over"
	case 12:
		if l.r.State == ledger.Waiting {
			l.r = l.r.Unclaimed()
		}
		what = "unclaimed"
	case 13:
		l.r, what = l.r.Woken(l.now), "woken"
	}
	l.steps = append(l.steps, what)
	fresh := what == "replay" && was.State == ledger.Done || what == "purge"
	l.must(fresh || l.r.Number() >= was.Number(), "the number of the next attempt falls by %s", what)
	l.must(fresh || l.r.Suspect() == was.Suspect(), "suspicion changes by %s", what)
	l.must(what == "purge" || l.r.Tries == was.Tries, "attempts on record change by %s", what)
	l.must(was.State != ledger.Dead || !l.r.State.Open() || what == "retry" || what == "redrive", "a dead letter comes back by %s", what)
	l.must(was.State != ledger.Done || !l.r.State.Open() || what == "replay", "what was handled comes back by %s", what)
	if anew := !was.State.Open() && l.r.State.Open(); anew {
		l.must(l.r.Failures == 0 && l.r.Snoozes == 0 && l.r.Since.Equal(l.now) && l.r.Due.Equal(l.now), "it does not begin anew by %s", what)
	}
}

func (l *life) check() {
	r := l.r
	l.must(!r.Crashed || r.Suspect(), "the last attempt was a crash, and it is no suspect")
	l.must(r.OpenCrash.IsZero() || r.Suspect(), "a crash may count, and it is no suspect")
	l.must(r.Failures == r.Tries-r.History, "%d failures count, and %d attempts are on record since it began", r.Failures, r.Tries-r.History)
	l.must(r.Uncounted >= 0 && r.Together >= 0, "a count is negative")
	l.must(r.State.Open() || r.Due.IsZero() && r.Set.IsZero() && !r.Cancelled && r.HeldSince.IsZero(), "it is settled, and waits for something")
	l.must(!r.State.Open() || r.Ended.IsZero() && r.Fingerprint == "", "it is open, and has an end")
	l.must(!r.Cancelled || r.State == ledger.Waiting && !r.Due.After(l.now) && r.Reason != "", "it is cancelled, and its owner does not see that")
	l.must(r.State.Open() == r.Ended.IsZero(), "it ended at %v", r.Ended)
	l.must(r.HeldSince.IsZero() || r.State == ledger.Held, "it is held for its version, and waits")
	l.must(r.Was == nil || r.State == ledger.Discarded, "it was a dead letter, and was not discarded")
	l.must(!r.Failing() || !r.Exempt() && r.State.Open(), "later events wait for it")
}

func TestTheRulesHoldInEveryLife(t *testing.T) {
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(*lives), "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		defer flag.Set(name, flag.Lookup(name).DefValue)
	}
	rapid.Check(t, func(t *rapid.T) {
		decisions := rapid.SliceOfN(rapid.Uint32(), 1, 24).Draw(t, "decisions")
		l := &life{t: t, r: ledger.Fresh(&engine.Record{CreatedAt: before}), now: at, steps: make([]any, 0, 48)}
		if len(decisions)%4 == 0 {
			l.r = ledger.Fresh(&engine.Record{Due: later})
		}
		for _, one := range decisions {
			b := bits(one)
			l.now = l.now.Add(time.Second)
			switch kind := b.below(5); {
			case kind < 2 && l.r.State.Open():
				l.end(&b)
			case kind == 2:
				l.crash(&b)
			default:
				l.operate(&b)
			}
			l.check()
		}
	})
}

func BenchmarkAfterARetry(b *testing.B) {
	d := counts{Failures: 1}
	v := &engine.Disposition{Kind: engine.Retry, Attempt: failed}
	now := ledger.Moment{At: at, Due: later}
	b.ReportAllocs()
	for b.Loop() {
		if n, _ := d.After(true, v, now); n.Failures != 2 {
			b.Fatal(n)
		}
	}
}
