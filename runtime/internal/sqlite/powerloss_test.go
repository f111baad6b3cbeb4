package sqlite

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// TestNothingPromisedIsLostInAPowerCut runs random work on a simulated disk,
// cuts the power at a random operation, and goes on with what a disk may then
// hold, up to three times per seed. It checks at every step, and at the end
// without a cut, that
//
//   - an event whose Append returned nil is there, unchanged, in its place;
//   - one whose Append returned an error is not, unless it was the power cut
//     that interrupted it; then its whole batch is there or nothing of it;
//   - events staged with a success are there if and only if the success is, and both
//     stay once they were written;
//   - a disposition that was written before a later event was synced stays;
//   - every other delivery is handed out again, in order, and can be settled;
//   - who was at work is a suspect if the claims are left, and nobody else is;
//     the crash counts if one was at work alone; what may have been handled says so;
//   - SQLite finds nothing wrong with the file.
func TestNothingPromisedIsLostInAPowerCut(t *testing.T) {
	var cuts counter
	seeds := make([]uint64, simRounds.N())
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	simulate(t, seeds, func(s *sim) {
		r := &powerLoss{machine: &machine{sim: s, model: newModel(), counter: &cuts}}
		r.failed, r.inDoubt = r.interrupted, func() bool { return true }
		r.run()
	})
	t.Cleanup(func() { t.Logf("%d seeds: %v", cuts.get("seeds"), &cuts) })
}

// powerLoss is one seed.
type powerLoss struct {
	*machine
	claims  []byte // as they were at some moment of this life
	started bool   // this life has come to work
	enough  bool   // the power fails now
}

func (r *powerLoss) run() {
	r.count("seeds")
	image := simfs.Image(nil)
	if r.chance(85) {
		image = r.base()
	}
	for range 1 + r.IntN(3) {
		r.lives++
		r.boot(image)
		r.fs.CutAfter(1 + r.IntN(r.cutWithin()))
		r.live()
		if r.fs.Dead() {
			r.count("cuts under way")
		} else {
			r.count("cuts between operations")
		}
		image = r.crash()
	}
	r.lives++
	r.boot(image)
	r.recover()
}

// cutWithin is how many changes of files to expect. Cuts at the beginning find
// other mistakes than cuts in the middle of work.
func (r *powerLoss) cutWithin() int {
	return []int{8, 40, 200, 400}[r.IntN(4)]
}

// live works until the power fails, or it has done enough.
func (r *powerLoss) live() {
	r.enough = false
	if r.started = r.start(); !r.started {
		return
	}
	for range 10 + r.IntN(40) {
		if r.fs.Dead() || r.enough {
			return
		}
		r.step()
		synctest.Wait() // so that the seed decides about the order of things
	}
}

// interrupted checks that only the power cut made something fail.
func (r *powerLoss) interrupted(doing string, err error) {
	r.Helper()
	if !r.fs.Dead() {
		r.fail("life %d: cannot %s: %v", r.lives, doing, err)
	}
}

func (r *powerLoss) step() {
	switch n := r.IntN(100); {
	case n < 25:
		r.publish(1, 100)
	case n < 33:
		r.publish(2+r.IntN(5), 100)
	case n < 35:
		r.publish(60+r.IntN(20), 100)
	case n < 37:
		r.publish(1, 300_000)
	case n < 45:
		r.publishTogether()
	case n < 46:
		r.publishTooLate()
	case n < 50:
		r.publishAgain()
	case n < 63:
		r.poll(r.consumers[r.IntN(len(r.consumers))], 1+r.IntN(5))
	case n < 83:
		r.work()
	case n < 88:
		r.flush()
	case n < 90:
		r.publishWithSuccess()
	case n < 95:
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
	case n < 98:
		r.checkpoint()
	case n < 99:
		r.snapshot()
	default:
		r.restart()
	}
}

// publishTooLate has given up before it begins.
func (r *powerLoss) publishTooLate() {
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	records := r.records(r.sim, simTypes, 1, 100)
	call := r.add(records, nil)
	if err := r.log.Append(ctx, records); !errors.Is(err, context.Canceled) {
		r.fail("an Append whose context had ended returned %v", err)
	}
	call.fate = refused
}

// publishWithSuccess handles a delivery at hand with a handler that publishes. Often the power
// fails as soon as that is written, before anything else is synced.
func (r *powerLoss) publishWithSuccess() {
	at := slices.IndexFunc(r.held, func(d *polled) bool { return !d.begun() })
	if at < 0 {
		return
	}
	d := r.held[at]
	r.held = slices.Delete(r.held, at, at+1)
	r.begin(d)
	r.settle(d, engine.Disposition{Kind: engine.Done, Staged: r.records(r.sim, simTypes, 1+r.IntN(3), 100)})
	r.flush()
	r.enough = r.chance(50)
	r.count("successes that published")
}

// work begins a delivery at hand, or settles it.
func (r *powerLoss) work() {
	if len(r.held) == 0 {
		return
	}
	at := r.IntN(len(r.held))
	d := r.held[at]
	if !d.begun() {
		r.begin(d)
		if r.chance(30) {
			return // and is busy for a while
		}
	}
	r.held = append(r.held[:at], r.held[at+1:]...)
	r.settle(d, r.disposition(d))
}

// disposition draws what becomes of a delivery.
func (r *powerLoss) disposition(d *polled) engine.Disposition {
	attempt := &event.FailedAttempt{Kind: event.KindError, Started: time.Now(), Ended: time.Now(), Error: "it did not work"}
	switch n := r.IntN(100); {
	case n < 50:
		return engine.Disposition{Kind: engine.Done}
	case n < 65:
		return engine.Disposition{Kind: engine.Done, Staged: r.records(r.sim, simTypes, 1+r.IntN(3), 100)}
	case n < 85:
		due := time.Now().Add([]time.Duration{0, time.Millisecond, time.Second}[r.IntN(3)])
		return engine.Disposition{Kind: engine.Retry, Due: due, Attempt: attempt}
	case n < 95:
		return engine.Disposition{Kind: engine.Dead, Reason: event.ReasonMaxAttempts, Attempt: attempt}
	default:
		return engine.Disposition{Kind: engine.Release}
	}
}

// checkpoint is done by another connection, as a shell or an inspector does.
func (r *powerLoss) checkpoint() {
	c, err := simRaw(r.path, r.fs)
	if err != nil {
		r.interrupted("open", err)
		return
	}
	defer c.Close()
	mode := []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[r.IntN(4)]
	if err := c.Exec("PRAGMA wal_checkpoint(" + mode + ")"); err != nil {
		r.interrupted("checkpoint", err)
	}
	r.count("checkpoints")
}

// restart ends the process in good order and starts the next.
func (r *powerLoss) restart() {
	for _, d := range r.held {
		r.settle(d, engine.Disposition{Kind: engine.Release})
	}
	err := r.log.Close()
	r.trace("close: %v", err)
	r.died(r.lives)
	if err != nil {
		r.interrupted("close", err)
		return
	}
	// Written, but not synced for whoever relies on that.
	r.flushed(r.lives)
	r.lives++
	r.started = r.start()
}

// snapshot remembers the claims as the disk may show them later: they are
// never synced.
func (r *powerLoss) snapshot() {
	content, err := os.ReadFile(r.path + "-claims")
	if err == nil {
		r.claims = content
	}
}

// crash ends the life by a power cut, and returns what the disk then holds.
func (r *powerLoss) crash() simfs.Image {
	synctest.Wait()
	r.trace("crash")
	image := r.fs.Crash(r.Uint64())
	intact := r.started && r.chance(50)
	if intact {
		r.snapshot()
	}
	r.abandon()
	if r.leaveClaims() && intact {
		r.expectCharges()
	}
	r.died(r.lives)
	r.inspect(image)
	return image
}

// expectCharges notes what the claims say.
func (r *powerLoss) expectCharges() {
	r.each(func(p *pair) {
		if p.begun == r.lives {
			p.claimed = r.lives
		}
	})
	var ran []*pair
	for _, w := range r.consumers {
		for _, d := range w.busy {
			if d != nil {
				ran = append(ran, d.pair)
			}
		}
	}
	for _, p := range ran {
		if p != nil {
			p.interrupted, p.ran = r.lives, ran
		}
	}
}

// leaveClaims makes of the claims what a power cut may: all, nothing, noise.
// It reports whether it was all.
func (r *powerLoss) leaveClaims() (all bool) {
	path := r.path + "-claims"
	switch content := r.claims; r.IntN(4) {
	case 0:
		os.Remove(path)
	case 1:
		for i := range content {
			if r.chance(5) {
				content[i] = byte(r.Uint32())
			}
		}
		r.must(os.WriteFile(path, content, 0o600))
	default:
		all = true
		r.must(os.WriteFile(path, content, 0o600))
	}
	r.claims = nil
	return all
}
