package buslog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/internal/engine"
	rules "github.com/busgen/busgen/runtime/internal/ledger"
)

// What this engine makes of a row is what package ledger says. Until it asks the ledger itself, these tests compare the two.

// twin returns a row as the ledger has it. What says nothing, such as the due time of a settled row, is left out.
func twin(r *row) rules.Row {
	out := rules.Row{
		Delivery: rules.Delivery{
			Failures: r.Failures, Uncounted: r.Uncounted, MaxAttempts: r.MaxAttempts, Snoozes: r.Snoozes,
			Crashed: r.Crashed, PutOff: r.PutOff, Delayed: r.Made || !r.EventDue.IsZero(), Retried: r.Retried, Replayed: r.Replayed,
			Since: r.Since, Progress: r.Progress,
		},
		State: map[state]rules.State{
			waiting: rules.Waiting, held: rules.Held, dead: rules.Dead, discarded: rules.Discarded, done: rules.Done, gone: rules.Done,
		}[r.State],
		Tries: len(r.Attempts), History: r.History, Redriven: r.Redriven,
		Cancelled: r.Cancelled, Reason: r.Reason, Fingerprint: r.Fingerprint,
	}
	if r.Suspect {
		out.Together = max(r.Together, 1)
	}
	if len(r.Open) > 0 {
		out.OpenCrash = r.Open[0]
	}
	switch {
	case r.State == held:
		out.HeldSince = r.Held
		fallthrough
	case r.State == waiting:
		if out.Due = r.Due; !r.Due.IsZero() {
			out.Set = r.Set
		}
		if out.Set.After(out.Due) { // a half that is due with the suspects that were left
			out.Set = out.Due
		}
	case r.State == done || r.State == gone:
		out.Progress = ""
	default:
		out.Ended = r.Died
	}
	if r.State == discarded && r.Was != nil && r.Was.State == dead {
		out.Fingerprint, out.Was = "", &rules.Death{Reason: r.Was.Reason, Fingerprint: r.Fingerprint, At: r.Was.Died}
	}
	return out
}

// same compares a row with what the ledger says of it.
func same(t *testing.T, what string, got *row, want rules.Row) {
	t.Helper()
	if want.State == rules.Done { // nobody asks when, or how far it had come
		want.Ended, want.Progress = time.Time{}, ""
	}
	if !want.State.Open() && want.State != rules.Dead && want.Was == nil {
		want.Fingerprint = ""
	}
	if diff := cmp.Diff(want, twin(got)); diff != "" {
		t.Errorf("%s (-ledger +engine):\n%s", what, diff)
	}
}

// drawRow returns a row as it may be.
func drawRow(random *rand.Rand, now time.Time) *row {
	yes := func() bool { return random.IntN(2) == 0 }
	e := &engine.Record{Seq: 1, Type: "order.placed", Version: 1, CreatedAt: now.Add(-time.Hour)}
	if random.IntN(4) == 0 {
		e.Due = now.Add(-time.Minute)
	}
	r := newRow(e)
	r.Failures, r.Uncounted, r.Snoozes, r.Redriven = random.IntN(3), random.IntN(3), random.IntN(3), random.IntN(3)
	r.History = random.IntN(2)
	r.Attempts = make([]engine.FailedAttempt, r.Failures+r.History)
	r.PutOff, r.Retried, r.Replayed, r.Made = yes(), random.IntN(4) == 0, random.IntN(4) == 0, random.IntN(4) == 0
	if r.Suspect = yes(); r.Suspect {
		r.Together, r.Crashed = 1+random.IntN(4), yes()
		if yes() {
			r.Open = []time.Time{now.Add(-time.Minute)}
		}
	}
	if yes() {
		r.Progress = `["a"]`
	}
	switch random.IntN(4) {
	case 0:
		r.State = held
	case 1:
		r.State, r.Held, r.Due, r.Set = held, now.Add(-time.Hour), now.Add(time.Hour), now.Add(-time.Hour)
	default:
		r.State, r.Due, r.Set = waiting, now.Add(time.Minute), now.Add(-time.Minute)
	}
	return r
}

// drawDead returns a dead letter.
func drawDead(random *rand.Rand, now time.Time) *row {
	r := drawRow(random, now)
	r.State, r.Held, r.Due, r.Set = dead, time.Time{}, time.Time{}, time.Time{}
	r.Reason, r.Fingerprint, r.Died = engine.ReasonMaxAttempts, "f", now.Add(-time.Minute)
	if r.Crashed {
		r.Reason = engine.ReasonCrash
	}
	return r
}

// Rows that are cancelled between the end of a turn and its writing are not drawn: this engine still writes the due time of the turn
// over that of the cancel.
func TestTheEndOfATurnIsThatOfTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLog(t)
		l.clock.wall = time.Now
		u := l.unitOf(l.sub("orders"))
		defer u.timer.Stop()
		defer u.calm.Stop()
		for seed := range uint64(5_000) {
			random := rand.New(rand.NewPCG(seed, 1))
			yes := func() bool { return random.IntN(2) == 0 }
			now := time.Now()
			before := drawRow(random, now)
			v := &engine.Disposition{Kind: engine.DispositionKind(1 + random.IntN(7)), NotCalled: random.IntN(4) == 0, Progress: before.Progress}
			f := &flight{record: before.record(), begun: yes(), how: v}
			paused := yes()
			if yes() {
				v.Progress += "b"
			}
			switch v.Kind {
			case engine.Done:
				f.begun, v.NotCalled = true, false
			case engine.Retry:
				v.Attempt, v.Due, v.MaxAttempts, f.begun = &engine.FailedAttempt{Kind: engine.KindError}, now.Add(time.Hour), random.IntN(2), true
			case engine.Snooze:
				v.Due, v.Asked = now.Add(time.Hour), f.begun && yes()
			case engine.Hold:
				if yes() {
					v.Held, v.Due = &now, now.Add(time.Hour)
				}
			case engine.Dead:
				if v.Reason, v.Fingerprint = engine.ReasonExpired, "g"; f.begun && yes() {
					v.Attempt = &engine.FailedAttempt{Kind: engine.KindError}
				}
			case engine.Discard:
				v.Reason, v.Cancelled = "no", yes()
			case engine.Release:
				if !f.begun {
					continue // see consumer.settle
				}
			}
			moment := rules.Moment{At: now, Due: v.Due, Paused: paused}
			delete(u.sub.asks, 1)
			if v.Cancelled && yes() { // nobody has undone it
				moment.Cancelled = true
				u.sub.asks = map[int64]*ask{1: {Reason: "no"}}
			}
			l.registry.Pauses = nil
			if paused {
				l.registry.Pauses = []engine.Pause{{Kind: engine.PauseType, Target: before.Type}}
			}
			u.sub.rows = map[int64]*row{1: before}
			want, effects := twin(before).After(f.begun, v, moment)
			got := u.rowOf(f)
			what := fmt.Sprintf("seed %d: %+v begun %v", seed, *v, f.begun)
			if effects.Unchanged {
				t.Errorf("%s: the ledger writes nothing", what)
			}
			if same(t, what, got, want); t.Failed() {
				return
			}
		}
	})
}

func TestWhatOperatorsDoIsThatOfTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(2_000) {
			random := rand.New(rand.NewPCG(seed, 2))
			now := time.Now()
			letter, open := drawDead(random, now), drawRow(random, now)

			r := letter.clone()
			r.revive()
			want := twin(letter)
			want.Together = max(want.Together, twin(r).Together) // imported ones do not say that they are suspects
			want = want.Revive(true, now)
			want.Redriven = r.Redriven // which its callers count
			same(t, "retry", r, want)

			r = letter.clone()
			r.discard("why")
			settled := twin(letter).Discard("why", now)
			same(t, "discard a dead letter", r, settled)
			r.restore()
			same(t, "undo of that", r, settled.Restore(now))

			r = open.clone() // as inspections do while nobody dispatches
			r.keep()
			r.State, r.Reason, r.Died = discarded, "why", now
			settled = twin(open).Discard("why", now)
			same(t, "discard what is open", r, settled)
			r.restore()
			same(t, "undo of that", r, settled.Restore(now))

			r = open.clone() // as an owner answers
			r.keep()
			r.Reason, r.Cancelled, r.State, r.Due = "why", true, waiting, time.Time{}
			cancelled := twin(open).Cancel("why")
			same(t, "cancel", r, cancelled)
			r.restore()
			same(t, "undo of a cancel", r, cancelled.Restore(now))

			if letter.failing() != twin(letter).Failing() || open.failing() != twin(open).Failing() {
				t.Errorf("a strict order waits: %v and %v, by the ledger %v and %v", letter.failing(), open.failing(), twin(letter).Failing(), twin(open).Failing())
			}
			for _, reasons := range [][]string{nil, {engine.ReasonCrash}, {engine.ReasonMaxAttempts}, {engine.KindError}} {
				if n := len(letter.Attempts); n > 0 {
					letter.Attempts[n-1].Kind = []string{engine.KindError, engine.KindCrash}[random.IntN(2)]
				}
				spec := &engine.RedriveSpec{Reasons: reasons, DeadBefore: now, Max: 99}
				if got, want := letter.hasReason(reasons), twin(letter).Redrivable(letter.lastFailed(), spec); got != want {
					t.Errorf("a redrive of %q takes a letter of %q, last %q: %v, by the ledger %v", reasons, letter.Reason, letter.lastFailed(), got, want)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

// Two cases are not drawn, in which this engine still differs. A handler that was left behind and waits for others is a suspect here,
// and none by the ledger. Events of a batch whose handlers all waited are tried one by one here, and in halves by the ledger.
func TestWhatACrashMakesOfARowIsThatOfTheLedger(t *testing.T) {
	l, now := newStoredLog(t), time.Now().UTC().Round(0)
	l.clock.wall, l.allRows = func() time.Time { return now }, true
	for seed := range uint64(2_000) {
		random := rand.New(rand.NewPCG(seed, 3))
		l.subs = map[string]*sub{}
		s := l.sub("orders")
		u := &unit{log: l, sub: s}
		c := &s.parts[whole].cursor
		c.Owner = "dead"
		var claims []rules.Claim
		for seq := range int64(1 + random.IntN(4)) {
			r := drawRow(random, now)
			r.Seq, r.State, r.Held, r.Due, r.Set = seq+1, waiting, time.Time{}, now.Add(-time.Minute), now.Add(-time.Minute)
			s.rows[r.Seq] = r
			last := claim{Seq: r.Seq, Batch: random.IntN(2) == 0, Left: random.IntN(6) == 0}
			last.Waits = !last.Batch && !last.Left && random.IntN(3) == 0
			c.Ran = append(c.Ran, last)
			claims = append(claims, rules.Claim{Together: twin(r).Together, Waits: last.Waits, Batch: last.Batch})
		}
		l.unsure["dead"] = random.IntN(4) == 0
		verdicts := rules.Judge(claims, rules.Others{}, !l.unsure["dead"])
		first := s.suspectsDue(now, c.Ran)
		msgs, crashes, _, err := l.recover(u, c, called{}, now, 100)
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]*row{}
		for _, m := range msgs {
			r := &row{}
			if err := json.Unmarshal(m.Data, r); err != nil {
				t.Fatal(err)
			}
			got[r.Seq] = r
		}
		reported := 0
		for i, one := range c.Ran {
			unknown := 0
			if one.Left {
				unknown = -1
			}
			want, effects := twin(s.rows[one.Seq]).Crash(verdicts[i], unknown, first, now)
			if effects.Crash {
				reported++
			}
			r := got[one.Seq]
			if effects.Unchanged != (r == nil) {
				t.Fatalf("seed %d: claim %d of %+v changes nothing: %v, by the ledger %v", seed, i, c.Ran, r == nil, effects.Unchanged)
			}
			if r == nil {
				continue
			}
			same(t, fmt.Sprintf("seed %d: claim %d of %+v, %+v", seed, i, c.Ran, verdicts[i]), r, want)
		}
		if len(crashes) != reported {
			t.Errorf("seed %d: %d crashes are reported, by the ledger %d", seed, len(crashes), reported)
		}
		if t.Failed() {
			return
		}
	}
}
