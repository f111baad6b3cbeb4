package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

var (
	before = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	at     = before.Add(time.Hour)  // when it happens
	later  = at.Add(time.Minute)    // when a disposition is due
	first  = at.Add(-5 * time.Hour) // when the first of the suspects is due
	failed = &event.FailedAttempt{Kind: event.KindError}
	crash  = &event.FailedAttempt{Kind: event.KindCrash, Ended: at, Error: engine.CrashText}
)

// step is an input.
type step func(r ledger.Row) (ledger.Row, ledger.Effects)

// turn is the end of a turn that was begun.
func turn(v engine.Disposition) step {
	return func(r ledger.Row) (ledger.Row, ledger.Effects) {
		return r.After(true, &v, ledger.Moment{At: at, Due: later})
	}
}

// unbegun is the end of a turn that had no claim.
func unbegun(v engine.Disposition) step {
	return func(r ledger.Row) (ledger.Row, ledger.Effects) {
		return r.After(false, &v, ledger.Moment{At: at, Due: later})
	}
}

// paused is turn while the event type is paused.
func paused(v engine.Disposition) step {
	return func(r ledger.Row) (ledger.Row, ledger.Effects) {
		return r.After(false, &v, ledger.Moment{At: at, Due: later, Paused: true})
	}
}

// crashed is the death of the process.
func crashed(v ledger.Verdict, unknown int) step {
	return func(r ledger.Row) (ledger.Row, ledger.Effects) { return r.Crash(v, unknown, time.Time{}, at) }
}

// by is an input without effects.
func by(change func(r ledger.Row) ledger.Row) step {
	return func(r ledger.Row) (ledger.Row, ledger.Effects) { return change(r), ledger.Effects{} }
}

// open returns a row that waits.
func open(d ledger.Delivery) ledger.Row {
	return ledger.Row{Delivery: d, State: ledger.Waiting, Due: before, Set: before}
}

// due returns a row that is due now.
func due(d ledger.Delivery) ledger.Row {
	return ledger.Row{Delivery: d, State: ledger.Waiting, Due: at, Set: at}
}

// atOnce returns a row that is due at once.
func atOnce(d ledger.Delivery) ledger.Row { return ledger.Row{Delivery: d, State: ledger.Waiting} }

// dead returns a dead letter that has failed three times.
func dead(d ledger.Delivery) ledger.Row {
	d.Failures = 3
	return ledger.Row{Delivery: d, State: ledger.Dead, Reason: event.ReasonMaxAttempts, Fingerprint: "f", Ended: before, Tries: 3}
}

// with changes a row.
func with(r ledger.Row, change func(r *ledger.Row)) ledger.Row {
	change(&r)
	return r
}

// suspended returns a row whose handler waits in a step.
func suspended() row {
	return row{Delivery: counts{Suspended: true, PutOff: true}, Due: later}
}

type (
	counts = ledger.Delivery
	row    = ledger.Row
)

// transitions are all that can happen to a delivery. Each begins with the rule of docs/semantics.md that it comes from.
var transitions = []struct {
	rule    string
	name    string
	from    row
	input   step
	want    row
	effects ledger.Effects
}{
	// A turn ends.
	{"A success is final.", "done", open(counts{Uncounted: 1}),
		turn(engine.Disposition{Kind: engine.Done}),
		row{Delivery: counts{Uncounted: 1}, State: ledger.Done, Ended: at},
		ledger.Effects{Settled: true}},
	{"A success is final.", "done after a crash", with(open(counts{Failures: 1, Together: 1, Crashed: true, Progress: "[a]"}), func(r *row) { r.Tries = 1 }),
		turn(engine.Disposition{Kind: engine.Done}),
		row{Delivery: counts{Failures: 1, Progress: "[a]"}, State: ledger.Done, Ended: at, Tries: 1},
		ledger.Effects{Settled: true}},
	{"Failures are counted per delivery.", "retry", open(counts{Failures: 1, MaxAttempts: 9}),
		turn(engine.Disposition{Kind: engine.Retry, Attempt: failed, MaxAttempts: 20, Progress: "[a]"}),
		row{Delivery: counts{Failures: 2, MaxAttempts: 20, PutOff: true, Progress: "[a]"}, Due: later, Set: at, Tries: 1},
		ledger.Effects{Attempt: failed}},
	{"Failures are counted per delivery.", "retry by the policy of the subscription", open(counts{Failures: 1, MaxAttempts: 9}),
		turn(engine.Disposition{Kind: engine.Retry, Attempt: failed}),
		row{Delivery: counts{Failures: 2, PutOff: true}, Due: later, Set: at, Tries: 1},
		ledger.Effects{Attempt: failed}},
	{"The due time is stored with the failure.", "retry without a wait", open(counts{}),
		func(r row) (row, ledger.Effects) {
			return r.After(true, &engine.Disposition{Kind: engine.Retry, Attempt: failed}, ledger.Moment{At: at, Due: at})
		},
		row{Delivery: counts{Failures: 1, PutOff: true}, Due: at, Set: at, Tries: 1},
		ledger.Effects{Attempt: failed, Again: true}},
	{"A handler steers by the error it returns,", "snooze", open(counts{Failures: 1, MaxAttempts: 9, Snoozes: 3}),
		turn(engine.Disposition{Kind: engine.Snooze, Asked: true}),
		row{Delivery: counts{Failures: 1, Uncounted: 1, MaxAttempts: 9, Snoozes: 4, PutOff: true}, Due: later, Set: at},
		ledger.Effects{}},
	{"A handler cannot snooze an event for ever.", "snooze that the handler has not asked for", open(counts{Snoozes: 3}),
		turn(engine.Disposition{Kind: engine.Snooze}),
		row{Delivery: counts{Uncounted: 1, Snoozes: 3, PutOff: true}, Due: later, Set: at},
		ledger.Effects{}},
	{"A crash loop that is no event's fault makes no dead letters.", "snooze before the turn began", open(counts{Together: 1}),
		unbegun(engine.Disposition{Kind: engine.Snooze, NotCalled: true}),
		row{Delivery: counts{Together: 1, PutOff: true}, Due: later, Set: at},
		ledger.Effects{}},
	{"A handler that waits in a step is suspended.", "suspend", open(counts{Failures: 1, Snoozes: 3, MaxAttempts: 9, Together: 1, Run: 2}),
		turn(engine.Disposition{Kind: engine.Suspend, Due: before.Add(72 * time.Hour), Progress: "[a]"}),
		row{Delivery: counts{Failures: 1, Uncounted: 1, Snoozes: 3, MaxAttempts: 9, Run: 2, PutOff: true, Suspended: true, Progress: "[a]"}, Due: before.Add(72 * time.Hour)},
		ledger.Effects{}},
	{"A handler that waits in a step is suspended.", "suspend until a time that has passed", open(counts{}),
		turn(engine.Disposition{Kind: engine.Suspend, Due: before}),
		row{Delivery: counts{Uncounted: 1, PutOff: true, Suspended: true}, Due: before},
		ledger.Effects{Again: true}},
	{"A handler that waits in a step is suspended.", "the event comes that it waits for", suspended(),
		by(func(r row) row { return r.Woken(at) }),
		row{Delivery: counts{Suspended: true, PutOff: true}, Due: at, Set: at},
		ledger.Effects{}},
	{"A handler that waits in a step is suspended.", "the event comes when it waits for a retry", row{Delivery: counts{Failures: 1}, Due: later, Set: at},
		by(func(r row) row { return r.Woken(at) }),
		row{Delivery: counts{Failures: 1}, Due: later, Set: at},
		ledger.Effects{}},
	{"A handler that waits in a step is suspended.", "suspended and then handled", suspended(),
		turn(engine.Disposition{Kind: engine.Done}),
		row{Delivery: counts{PutOff: true}, State: ledger.Done, Ended: at},
		ledger.Effects{Settled: true}},
	{"A handler that waits in a step is suspended.", "suspended and then failed", suspended(),
		turn(engine.Disposition{Kind: engine.Retry, Attempt: failed}),
		row{Delivery: counts{Failures: 1, PutOff: true}, Due: later, Set: at, Tries: 1},
		ledger.Effects{Attempt: failed}},
	{"A handler that waits in a step is suspended.", "suspended and then crashed", suspended(),
		crashed(ledger.Verdict{How: ledger.Alone, Ran: 1}, 0),
		with(due(counts{Failures: 1, Together: 1, Crashed: true, PutOff: true}), func(r *row) { r.Tries = 1 }),
		ledger.Effects{Attempt: crash, Again: true, Crash: true}},
	{"A cancel ends a suspended delivery.", "cancel while suspended", suspended(),
		by(func(r row) row { return r.Cancel("why") }),
		row{Delivery: counts{PutOff: true}, Cancelled: true, Reason: "why"},
		ledger.Effects{}},
	{"A cancel ends a suspended delivery.", "discard while suspended", suspended(),
		by(func(r row) row { return r.Discard("why", at) }),
		row{Delivery: counts{PutOff: true}, State: ledger.Discarded, Reason: "why", Ended: at},
		ledger.Effects{}},
	{"A stored step is progress.", "store a step", open(counts{Failures: 2, Uncounted: 3, MaxAttempts: 9, Snoozes: 4, Together: 1, Crashed: true, PutOff: true, Run: 1, Progress: "[a]"}),
		by(func(r row) row { r.Delivery = r.Stored(); return r }),
		open(counts{Uncounted: 5, Snoozes: 4, PutOff: true, Run: 1, Progress: "[a]"}),
		ledger.Effects{}},
	{"What steps have done is undone when a handler gives up,", "undo", with(open(counts{Failures: 1, Uncounted: 2, MaxAttempts: 9, Snoozes: 4, Run: 1}), func(r *row) { r.Tries = 1 }),
		turn(engine.Disposition{Kind: engine.Undo, Attempt: failed, Progress: "[a]"}),
		with(due(counts{Uncounted: 4, Since: at, Run: 1, Undoing: true, Progress: "[a]"}), func(r *row) { r.Tries, r.History = 2, 2 }),
		ledger.Effects{Attempt: failed, Again: true}},
	{"A cancel ends a suspended delivery.", "undo of what was cancelled while it ran", with(open(counts{}), func(r *row) { r.Cancelled, r.Reason = true, "why" }),
		turn(engine.Disposition{Kind: engine.Undo, Attempt: failed}),
		row{Delivery: counts{Failures: 1}, State: ledger.Discarded, Reason: "why", Ended: at, Tries: 1},
		ledger.Effects{Attempt: failed, Settled: true}},
	{"An undo that cannot be done makes a dead letter", "an undo that fails", open(counts{Undoing: true}),
		turn(engine.Disposition{Kind: engine.Dead, Attempt: failed, Reason: event.ReasonUndo}),
		row{Delivery: counts{Failures: 1, Undoing: true}, State: ledger.Dead, Reason: event.ReasonUndo, Ended: at, Tries: 1},
		ledger.Effects{Attempt: failed, Settled: true}},
	{"An undo that cannot be done makes a dead letter", "retry of an undo", dead(counts{Undoing: true, Run: 1}),
		by(func(r row) row { return r.Revive(true, at) }),
		with(due(counts{Uncounted: 3, Retried: true, Since: at, Undoing: true, Run: 1}), func(r *row) { r.Tries, r.History = 3, 3 }),
		ledger.Effects{}},
	{"`Bus.Undo` undoes what is settled,", "undo a dead letter", with(dead(counts{Run: 1}), func(r *row) { r.Redriven = 2 }),
		by(func(r row) row { return r.Undo(at) }),
		with(due(counts{Uncounted: 3, Retried: true, Since: at, Undoing: true, Run: 1}), func(r *row) { r.Tries, r.History = 3, 3 }),
		ledger.Effects{}},
	{"`Bus.Undo` undoes what is settled,", "undo what was discarded", row{Delivery: counts{Failures: 2, Run: 1}, Tries: 2}.Discard("why", before),
		by(func(r row) row { return r.Undo(at) }),
		with(due(counts{Uncounted: 2, Since: at, Undoing: true, Run: 1}), func(r *row) { r.Tries, r.History = 2, 2 }),
		ledger.Effects{}},
	{"`Bus.Undo` undoes what is settled,", "undo what was handled", row{Delivery: counts{Failures: 2, Run: 1}, State: ledger.Done, Tries: 2},
		by(func(r row) row { return r.Undo(at) }),
		with(due(counts{Uncounted: 3, Replayed: true, Since: at, Undoing: true, Run: 1}), func(r *row) { r.Tries, r.History = 2, 2 }),
		ledger.Effects{}},
	{"`Bus.Undo` undoes what is settled,", "undo what is open", open(counts{Failures: 1}),
		by(func(r row) row { return r.Undo(at) }),
		open(counts{Failures: 1}),
		ledger.Effects{}},
	{"`Bus.Undo` undoes what is settled,", "undo what is erased", row{State: ledger.Discarded, Reason: engine.ReasonErased},
		by(func(r row) row { return r.Undo(at) }),
		row{State: ledger.Discarded, Reason: engine.ReasonErased},
		ledger.Effects{}},
	{"A dead letter begins anew from its start,", "retry from the start", dead(counts{Run: 1, Undoing: true, Progress: "[a]"}),
		by(func(r row) row { return r.Restart(at) }),
		with(due(counts{Uncounted: 3, Retried: true, Since: at, Run: 2}), func(r *row) { r.Tries, r.History = 3, 3 }),
		ledger.Effects{}},
	{"A dead letter begins anew from its start,", "retry from the start what is not dead", open(counts{Failures: 1}),
		by(func(r row) row { return r.Restart(at) }),
		open(counts{Failures: 1}),
		ledger.Effects{}},
	{"Paused deliveries wait, and nothing counts as an attempt.", "hold", open(counts{Failures: 1}),
		paused(engine.Disposition{Kind: engine.Hold}),
		row{Delivery: counts{Failures: 1, PutOff: true}, State: ledger.Held},
		ledger.Effects{}},
	{"Paused deliveries wait, and nothing counts as an attempt.", "hold whose pause has ended", open(counts{}),
		unbegun(engine.Disposition{Kind: engine.Hold}),
		row{Delivery: counts{PutOff: true}},
		ledger.Effects{Again: true}},
	{"Parked deliveries have turns by key.", "parked", open(counts{Failures: 1, Uncounted: 2}),
		unbegun(engine.Disposition{Kind: engine.Hold, Waitlist: "a", Key: "k"}),
		row{Delivery: counts{Failures: 1, Uncounted: 2, Waitlist: "a", Key: "k"}, State: ledger.Held},
		ledger.Effects{}},
	{"Parked deliveries have turns by key.", "parked until it is due", open(counts{}),
		unbegun(engine.Disposition{Kind: engine.Hold, Waitlist: "a", Due: later}),
		row{Delivery: counts{Waitlist: "a"}, Due: later, Set: at},
		ledger.Effects{}},
	{"It keeps its place in a strict order.", "hold for its version", open(counts{}),
		unbegun(engine.Disposition{Kind: engine.Hold, Held: &before, Due: later}),
		row{Delivery: counts{PutOff: true, HeldSince: before}, State: ledger.Held, Due: later, Set: at},
		ledger.Effects{}},
	{"A handler steers by the error it returns,", "discard", with(open(counts{Failures: 1}), func(r *row) { r.Tries = 1 }),
		turn(engine.Disposition{Kind: engine.Discard, Reason: "no", Progress: "[a]"}),
		row{Delivery: counts{Failures: 1, Uncounted: 1, Progress: "[a]"}, State: ledger.Discarded, Reason: "no", Ended: at, Tries: 1},
		ledger.Effects{Settled: true}},
	{"An event is either cancelled or begun.", "cancelled while it ran, and failed", with(open(counts{}), func(r *row) { r.Cancelled, r.Reason = true, "why" }),
		turn(engine.Disposition{Kind: engine.Discard, Cancelled: true, Attempt: failed, Reason: "why", Progress: "[a]"}),
		row{Delivery: counts{Failures: 1, Progress: "[a]"}, State: ledger.Discarded, Reason: "why", Ended: at, Tries: 1},
		ledger.Effects{Attempt: failed, Settled: true}},
	{"A discard can be undone,", "undone before it was written", with(open(counts{Failures: 2, MaxAttempts: 9, Snoozes: 1, PutOff: true}), func(r *row) { r.Tries = 5; r.History = 3 }),
		unbegun(engine.Disposition{Kind: engine.Discard, Cancelled: true, Reason: "why", Progress: "[a]"}),
		with(due(counts{Uncounted: 2, Since: at, Progress: "[a]"}), func(r *row) { r.Tries, r.History = 5, 5 }),
		ledger.Effects{Again: true}},
	{"A discard can be undone,", "undone before it was written, and never tried", open(counts{}),
		unbegun(engine.Disposition{Kind: engine.Discard, Cancelled: true, Reason: "why"}),
		due(counts{Since: at}),
		ledger.Effects{Again: true}},
	{"After its last attempt a delivery becomes a dead letter.", "dead", open(counts{Failures: 3}),
		turn(engine.Disposition{Kind: engine.Dead, Attempt: failed, Reason: event.ReasonMaxAttempts, Fingerprint: "f", Progress: "[a]"}),
		row{Delivery: counts{Failures: 4, Progress: "[a]"}, State: ledger.Dead, Reason: event.ReasonMaxAttempts, Fingerprint: "f", Ended: at, Tries: 1},
		ledger.Effects{Attempt: failed, Settled: true}},
	{"Suspects are executed alone.", "dead, and its handler was not called", with(open(counts{Together: 2, Uncounted: 1}), func(r *row) { r.OpenCrash = before }),
		turn(engine.Disposition{Kind: engine.Dead, NotCalled: true, Attempt: failed, Reason: event.ReasonDecode}),
		row{Delivery: counts{Failures: 1, Uncounted: 1, Together: 2}, State: ledger.Dead, Reason: event.ReasonDecode, Ended: at, Tries: 1},
		ledger.Effects{Attempt: failed, Settled: true}},
	{"An event that kills its process every time becomes a dead letter", "dead of a crash, without another attempt", with(open(counts{Failures: 4, Together: 1, Crashed: true}), func(r *row) { r.Tries = 4 }),
		unbegun(engine.Disposition{Kind: engine.Dead, Reason: event.ReasonCrash}),
		row{Delivery: counts{Failures: 4, Together: 1, Crashed: true}, State: ledger.Dead, Reason: event.ReasonCrash, Ended: at, Tries: 4},
		ledger.Effects{Settled: true}},
	{"At the deadline the bus interrupts handlers that still run.", "release", open(counts{Failures: 1, Together: 2, Crashed: true}),
		turn(engine.Disposition{Kind: engine.Release, Progress: "[a]"}),
		atOnce(counts{Failures: 1, Uncounted: 1, Together: 2, Crashed: true, Progress: "[a]"}),
		ledger.Effects{Again: true}},
	{"At the deadline the bus interrupts handlers that still run.", "release, and no member has handled it meanwhile", open(counts{Progress: "[a]"}),
		turn(engine.Disposition{Kind: engine.Release, Progress: "[a]"}),
		atOnce(counts{Uncounted: 1, Progress: "[a]"}),
		ledger.Effects{Again: true}},
	{"At the deadline the bus interrupts handlers that still run.", "release before the turn began", with(open(counts{Failures: 1, Progress: "[a]"}), func(r *row) { r.Due = later }),
		unbegun(engine.Disposition{Kind: engine.Release, Progress: "[a]"}),
		with(open(counts{Failures: 1, Progress: "[a]"}), func(r *row) { r.Due = later }),
		ledger.Effects{Unchanged: true, Again: true}},
	{"The members of a group share one delivery.", "release between two members", open(counts{}),
		unbegun(engine.Disposition{Kind: engine.Release, Progress: "[a]"}),
		atOnce(counts{Progress: "[a]"}),
		ledger.Effects{Again: true}},
	{"Events that a member publishes with its context are stored with its success,", "release of a group that has published", open(counts{}),
		unbegun(engine.Disposition{Kind: engine.Release, Staged: make([]engine.Record, 1)}),
		atOnce(counts{}),
		ledger.Effects{Again: true}},
	{"An operator can discard an open event.", "discarded by an operator, and its handler fails", open(counts{}).Cancel("why"),
		turn(engine.Disposition{Kind: engine.Retry, Attempt: failed}),
		row{Delivery: counts{Failures: 1, PutOff: true}, Tries: 1, Cancelled: true, Reason: "why"},
		ledger.Effects{Attempt: failed, Again: true}},
	{"An operator can discard an open event.", "discarded by an operator, and its last attempt fails", open(counts{}).Cancel("why"),
		turn(engine.Disposition{Kind: engine.Dead, Attempt: failed, Reason: event.ReasonMaxAttempts, Fingerprint: "f"}),
		row{Delivery: counts{Failures: 1}, State: ledger.Discarded, Reason: "why", Ended: at, Tries: 1},
		ledger.Effects{Attempt: failed, Settled: true, NoNotice: true}},
	{"An operator can discard an open event.", "discarded by an operator, and held", open(counts{}).Cancel("why"),
		paused(engine.Disposition{Kind: engine.Hold}),
		row{Delivery: counts{PutOff: true}, Cancelled: true, Reason: "why"},
		ledger.Effects{Again: true}},
	{"Nothing of a cancel is left once the delivery is settled.", "cancelled while it ran, and handled", open(counts{}).Cancel("why"),
		turn(engine.Disposition{Kind: engine.Done}),
		row{State: ledger.Done, Ended: at},
		ledger.Effects{Settled: true}},

	// The process dies.
	{"If one handler was running, that is a failed attempt of kind `crash`.", "crash alone", with(open(counts{Failures: 1, Uncounted: 1, MaxAttempts: 20}), func(r *row) { r.Tries = 1 }),
		crashed(ledger.Verdict{How: ledger.Alone}, 0),
		with(due(counts{Failures: 2, Uncounted: 1, Together: 1, Crashed: true, PutOff: true}), func(r *row) { r.Tries = 2 }),
		ledger.Effects{Attempt: crash, Again: true, Crash: true}},
	{"Suspects are executed alone.", "crash alone after a shared one", with(open(counts{Uncounted: 1, Together: 1}), func(r *row) { r.OpenCrash = before }),
		crashed(ledger.Verdict{How: ledger.Alone}, 0),
		with(due(counts{Failures: 2, Together: 1, Crashed: true, PutOff: true}), func(r *row) { r.Tries = 2 }),
		ledger.Effects{Attempt: crash, Counted: before, Again: true, Crash: true}},
	{"If one handler was running, that is a failed attempt of kind `crash`.", "crash alone after executions that could not be written", open(counts{}),
		crashed(ledger.Verdict{How: ledger.Alone}, 2),
		with(due(counts{Failures: 1, Uncounted: 2, Together: 1, Crashed: true, PutOff: true}), func(r *row) { r.Tries = 1 }),
		ledger.Effects{Attempt: crash, Again: true, Crash: true}},
	{"If one handler was running, that is a failed attempt of kind `crash`.", "shared crash", open(counts{Failures: 1, Uncounted: 1, MaxAttempts: 20}),
		crashed(ledger.Verdict{How: ledger.Shared, Together: 1}, 2),
		with(due(counts{Failures: 1, Uncounted: 4, MaxAttempts: 20, Together: 1, PutOff: true}), func(r *row) { r.OpenCrash = at }),
		ledger.Effects{Again: true, Crash: true}},
	{"A batch that was running is halved.", "shared crash of a suspect", with(open(counts{Uncounted: 1, Together: 4}), func(r *row) { r.OpenCrash = before }),
		crashed(ledger.Verdict{How: ledger.Shared, Together: 2}, 0),
		with(due(counts{Uncounted: 2, Together: 2, PutOff: true}), func(r *row) { r.OpenCrash = before }),
		ledger.Effects{Again: true, Crash: true}},
	{"A half has nothing but suspects of one crash, and nothing beside it.", "shared crash of a half", open(counts{Uncounted: 1, Together: 4}),
		func(r row) (row, ledger.Effects) {
			return r.Crash(ledger.Verdict{How: ledger.Shared, Together: 2, Again: true}, 0, first, at)
		},
		row{Delivery: counts{Uncounted: 2, Together: 2, PutOff: true}, Due: first, Set: first},
		ledger.Effects{Again: true, Crash: true}},
	{"A handler that waits for other handlers (`Receipt.Wait`, a request) was not running.", "crash while it waited", open(counts{Failures: 1}),
		crashed(ledger.Verdict{How: ledger.Waited}, 1),
		due(counts{Failures: 1, Uncounted: 2}),
		ledger.Effects{Again: true}},
	{"Handlers that were left behind may run beside a suspect,", "crash while a handler that was left behind ran", open(counts{Failures: 1, PutOff: true}),
		crashed(ledger.Verdict{How: ledger.Shared, Together: 3}, -1),
		open(counts{Failures: 1, PutOff: true, Together: 1}),
		ledger.Effects{}},
	{"Suspects are executed alone.", "crash while the handler of a dead letter still ran", dead(counts{}),
		crashed(ledger.Verdict{How: ledger.Alone}, -1),
		dead(counts{Together: 1, PutOff: true}),
		ledger.Effects{}},
	{"A handler that waits for other handlers (`Receipt.Wait`, a request) was not running.", "crash while one that was left behind waited", open(counts{Failures: 1}),
		crashed(ledger.Verdict{How: ledger.Waited}, -1),
		open(counts{Failures: 1}),
		ledger.Effects{Unchanged: true}},
	{"A success is final once it is written.", "crash, and it is settled", row{State: ledger.Done, Ended: before},
		crashed(ledger.Verdict{How: ledger.Alone}, 0),
		row{State: ledger.Done, Ended: before},
		ledger.Effects{Unchanged: true}},
	{"A success is final once it is written.", "crash, and its attempt is on record and it is settled", row{State: ledger.Discarded, Ended: before},
		crashed(ledger.Verdict{How: ledger.Alone}, -1),
		row{State: ledger.Discarded, Ended: before},
		ledger.Effects{Unchanged: true}},
	{"Only deliveries whose handlers were running are suspects.", "begun, and without a claim", with(open(counts{Failures: 1}), func(r *row) { r.Due = later }),
		by(row.Unclaimed),
		atOnce(counts{Failures: 1, Uncounted: 1}),
		ledger.Effects{}},
	{"A success is final once it is written.", "a success may have been lost", open(counts{}),
		by(func(r row) row { r.Delivery = r.Unrecorded(); return r }),
		open(counts{Uncounted: 1}),
		ledger.Effects{}},
	{"A success is final once it is written.", "a success may have been lost, or the failure before it was written", open(counts{Failures: 1}),
		by(func(r row) row { r.Delivery = r.Unrecorded(); return r }),
		open(counts{Failures: 1}),
		ledger.Effects{}},
	{"A success is final once it is written.", "the storage has lost that it was handled", row{State: ledger.Done, Ended: before},
		by(row.Unended),
		atOnce(counts{Uncounted: 1, PutOff: true}),
		ledger.Effects{}},
	{"A success is final once it is written.", "the storage has lost that it was dead", row{Delivery: counts{Failures: 2}, State: ledger.Dead, Reason: "r", Fingerprint: "f", Ended: before},
		by(row.Unended),
		atOnce(counts{Failures: 2, PutOff: true}),
		ledger.Effects{}},

	// Time and other programs.
	{"Parked deliveries have turns by key.", "the next of its waitlist", row{Delivery: counts{Waitlist: "a", Key: "k"}, State: ledger.Held},
		by(func(r row) row { return r.Freed(at) }),
		row{Delivery: counts{Waitlist: "a", Key: "k"}, Due: at, Set: at},
		ledger.Effects{}},
	{"Parked deliveries have turns by key.", "a pause ends, and it is parked", row{Delivery: counts{Waitlist: "a"}, State: ledger.Held},
		by(row.Resume),
		row{Delivery: counts{Waitlist: "a"}, State: ledger.Held},
		ledger.Effects{}},
	{"Paused deliveries wait, and nothing counts as an attempt.", "the pause ends", row{Delivery: counts{PutOff: true}, State: ledger.Held},
		by(row.Resume),
		atOnce(counts{PutOff: true}),
		ledger.Effects{}},
	{"It becomes a dead letter (`decode`) after `hold_unknown`,", "a pause ends, and it is held for its version", row{Delivery: counts{HeldSince: before}, State: ledger.Held, Due: later, Set: before},
		by(row.Resume),
		row{Delivery: counts{HeldSince: before}, State: ledger.Held, Due: later, Set: before},
		ledger.Effects{}},
	{"An event of a version that is newer than the program is held until a program takes over that knows it.", "a program takes over", row{Delivery: counts{HeldSince: before}, State: ledger.Held, Due: later, Set: before},
		by(row.TakenOver),
		row{Delivery: counts{HeldSince: before}, State: ledger.Held},
		ledger.Effects{}},
	{"While a process dispatches, setting the clock back makes no retry wait longer.", "the clock is set back", row{Delivery: counts{Failures: 1}, Due: later, Set: at},
		by(func(r row) row { return r.SetBack(time.Hour) }),
		row{Delivery: counts{Failures: 1}, Due: later.Add(-time.Hour), Set: before},
		ledger.Effects{}},
	{"While a process dispatches, setting the clock back makes no retry wait longer.", "the clock is set back, and the event is delayed", row{Delivery: counts{Delayed: true}, Due: later},
		by(func(r row) row { return r.SetBack(time.Hour) }),
		row{Delivery: counts{Delayed: true}, Due: later},
		ledger.Effects{}},
	{"It becomes a dead letter (`decode`) after `hold_unknown`,", "the clock is set back, and it is held for its version", row{Delivery: counts{HeldSince: at}, State: ledger.Held, Due: later, Set: at},
		by(func(r row) row { return r.SetBack(time.Hour) }),
		row{Delivery: counts{HeldSince: before}, State: ledger.Held, Due: later.Add(-time.Hour), Set: before},
		ledger.Effects{}},

	// What operators do.
	{"A cancel holds in every process,", "cancel", row{Delivery: counts{Failures: 1, PutOff: true}, Due: later, Set: at},
		by(func(r row) row { return r.Cancel("why") }),
		row{Delivery: counts{Failures: 1, PutOff: true}, Cancelled: true, Reason: "why"},
		ledger.Effects{}},
	{"A cancel holds in every process,", "cancel what is held", row{Delivery: counts{HeldSince: before}, State: ledger.Held, Due: later, Set: at},
		by(func(r row) row { return r.Cancel("why") }),
		row{Cancelled: true, Reason: "why"},
		ledger.Effects{}},
	{"A cancel holds in every process,", "cancel twice", atOnce(counts{}).Cancel("why"),
		by(func(r row) row { return r.Cancel("for another reason") }),
		row{Cancelled: true, Reason: "why"},
		ledger.Effects{}},
	{"Nothing of a cancel is left once the delivery is settled.", "cancel what is settled", dead(counts{}),
		by(func(r row) row { return r.Cancel("why") }),
		dead(counts{}),
		ledger.Effects{}},
	{"An operator can discard an open event.", "discard while nobody dispatches", row{Delivery: counts{Failures: 1, Progress: "[a]"}, Due: later, Set: at, Tries: 1},
		by(func(r row) row { return r.Discard("why", at) }),
		row{Delivery: counts{Failures: 1, Progress: "[a]"}, State: ledger.Discarded, Reason: "why", Ended: at, Tries: 1},
		ledger.Effects{}},
	{"Discarding settles a dead letter", "discard a dead letter", dead(counts{Together: 1}),
		by(func(r row) row { return r.Discard("why", at) }),
		with(dead(counts{Together: 1}), func(r *row) {
			r.State, r.Reason, r.Fingerprint, r.Ended = ledger.Discarded, "why", "", at
			r.Was = &ledger.Death{Reason: event.ReasonMaxAttempts, Fingerprint: "f", At: before}
		}),
		ledger.Effects{}},
	{"Discarding settles a dead letter", "discard what is settled", row{State: ledger.Done, Ended: before},
		by(func(r row) row { return r.Discard("why", at) }),
		row{State: ledger.Done, Ended: before},
		ledger.Effects{}},
	{"A discard can be undone,", "undo of a cancel that is open", with(row{Delivery: counts{Failures: 2, Uncounted: 1, Together: 1, Crashed: true, PutOff: true, Progress: "[a]"}, State: ledger.Held, Tries: 2}, func(r *row) { r.OpenCrash = before }).Cancel("why"),
		by(func(r row) row { return r.Restore(at) }),
		with(due(counts{Uncounted: 3, Together: 1, Since: at, Progress: "[a]"}), func(r *row) { r.Tries, r.History = 2, 2 }),
		ledger.Effects{}},
	{"A discard can be undone,", "undo of a discard", row{Delivery: counts{Failures: 2, Progress: "[a]", Replayed: true}, Tries: 2}.Discard("why", before),
		by(func(r row) row { return r.Restore(at) }),
		with(due(counts{Uncounted: 2, Since: at, Progress: "[a]", Replayed: true}), func(r *row) { r.Tries, r.History = 2, 2 }),
		ledger.Effects{}},
	{"A discard can be undone,", "undo of the discard of what was never tried", row{}.Discard("why", before),
		by(func(r row) row { return r.Restore(at) }),
		due(counts{Since: at}),
		ledger.Effects{}},
	{"A discard can be undone,", "undo of the discard of a dead letter", dead(counts{Uncounted: 4, Snoozes: 2, Together: 1}).Discard("why", at),
		by(func(r row) row { return r.Restore(later) }),
		dead(counts{Uncounted: 4, Snoozes: 2, Together: 1}),
		ledger.Effects{}},
	{"A retry that waits can be tried now,", "a retry", with(open(counts{Failures: 2, MaxAttempts: 9, PutOff: true}), func(r *row) { r.Due = later }),
		by(func(r row) row { return r.TryNow(at) }),
		due(counts{Failures: 2, MaxAttempts: 9, PutOff: true}), ledger.Effects{}},
	{"A retry that waits can be tried now,", "a snooze", with(open(counts{Snoozes: 1, PutOff: true}), func(r *row) { r.Due = later }),
		by(func(r row) row { return r.TryNow(at) }),
		due(counts{Snoozes: 1, PutOff: true}), ledger.Effects{}},
	{"A retry that waits can be tried now,", "a delay", row{Delivery: counts{Delayed: true}, Due: later},
		by(func(r row) row { return r.TryNow(at) }),
		row{Delivery: counts{Delayed: true}, Due: later}, ledger.Effects{}},
	{"A retry that waits can be tried now,", "a step", suspended(),
		by(func(r row) row { return r.TryNow(at) }),
		suspended(), ledger.Effects{}},
	{"A retry that waits can be tried now,", "a cancel", with(open(counts{Failures: 1}), func(r *row) { r.Due = later }).Cancel("why"),
		by(func(r row) row { return r.TryNow(at) }),
		with(open(counts{Failures: 1}), func(r *row) { r.Due = later }).Cancel("why"), ledger.Effects{}},
	{"A discard can be undone,", "undo where nothing was discarded", open(counts{Failures: 1}),
		by(func(r row) row { return r.Restore(at) }),
		open(counts{Failures: 1}),
		ledger.Effects{}},
	{"What is erased is not in the file any more.", "undo of a discard whose event was erased", row{State: ledger.Discarded, Reason: engine.ReasonErased, Ended: before},
		by(func(r row) row { return r.Restore(at) }),
		row{State: ledger.Discarded, Reason: engine.ReasonErased, Ended: before},
		ledger.Effects{}},
	{"Retrying a dead letter by hand", "retry a dead letter", with(dead(counts{Uncounted: 1, Snoozes: 9, MaxAttempts: 3, Together: 1, Crashed: true, PutOff: true, Progress: "[a]", Replayed: true}), func(r *row) { r.Redriven = 2 }),
		by(func(r row) row { return r.Revive(true, at) }),
		with(due(counts{Uncounted: 4, Together: 1, Retried: true, Since: at, Progress: "[a]", Replayed: true}), func(r *row) { r.Tries, r.History = 3, 3 }),
		ledger.Effects{}},
	{"A `redrive` in the catalogue retries dead letters automatically.", "redrive a dead letter", with(dead(counts{}), func(r *row) { r.Redriven = 2 }),
		by(func(r row) row { return r.Revive(false, at) }),
		with(due(counts{Uncounted: 3, Retried: true, Since: at}), func(r *row) { r.Tries, r.History, r.Redriven = 3, 3, 3 }),
		ledger.Effects{}},
	{"A `redrive` in the catalogue retries dead letters automatically.", "redrive what is not dead any more", open(counts{Failures: 1}),
		by(func(r row) row { return r.Revive(false, at) }),
		open(counts{Failures: 1}),
		ledger.Effects{}},
	{"A replay delivers handled events to one subscription again,", "replay", row{Delivery: counts{Failures: 2, Uncounted: 5, Delayed: true, Retried: true, Progress: "[a]"}, State: ledger.Done, Ended: before, Tries: 3, History: 1, Redriven: 1},
		by(func(r row) row { return r.Replay(at) }),
		with(due(counts{Uncounted: 4, Delayed: true, Replayed: true, Since: at, Run: 1}), func(r *row) { r.Tries, r.History = 3, 3 }),
		ledger.Effects{}},
	{"A replay delivers handled events to one subscription again,", "replay what has no row", ledger.Handled(&engine.Record{CreatedAt: before}),
		by(func(r row) row { return r.Replay(at) }),
		due(counts{Uncounted: 1, Replayed: true, Since: at, Run: 1}),
		ledger.Effects{}},
	{"A replay has its steps done again.", "replay again", row{Delivery: counts{Run: 1, Replayed: true}, State: ledger.Done},
		by(func(r row) row { return r.Replay(at) }),
		due(counts{Uncounted: 1, Replayed: true, Since: at, Run: 2}),
		ledger.Effects{}},
	{"A replay delivers handled events to one subscription again,", "replay what is dead", dead(counts{}),
		by(func(r row) row { return r.Replay(at) }),
		dead(counts{}),
		ledger.Effects{}},
	{"Editing makes a new event for the one subscription that had failed.", "edit, the dead letter", dead(counts{}),
		by(func(r row) row { old, _ := r.Edit("id", at); return old }),
		with(dead(counts{}), func(r *row) {
			r.State, r.Reason, r.Fingerprint, r.Ended = ledger.Discarded, "edited into id", "", at
			r.Was = &ledger.Death{Reason: event.ReasonMaxAttempts, Fingerprint: "f", At: before}
		}),
		ledger.Effects{}},
	{"Editing makes a new event for the one subscription that had failed.", "edit, the event that is made", dead(counts{Uncounted: 2, Together: 1, Progress: "[a]"}),
		by(func(r row) row { _, made := r.Edit("id", at); return made }),
		due(counts{Together: 1, Delayed: true, Since: at, Progress: "[a]"}),
		ledger.Effects{}},
	{"A discard can be undone,", "undo of an edit", with(dead(counts{}), func(r *row) { *r, _ = r.Edit("id", at) }),
		by(func(r row) row { return r.Restore(later) }),
		with(dead(counts{}), func(r *row) { *r, _ = r.Edit("id", at) }),
		ledger.Effects{}},
	{"Purging deletes dead letters by the time they died;", "purge", dead(counts{Together: 1, Delayed: true, Since: before}),
		by(func(r row) row { return r.Purge(at) }),
		row{Delivery: counts{Delayed: true, Since: before}, State: ledger.Done, Ended: at},
		ledger.Effects{}},
	{"Purging deletes dead letters by the time they died;", "purge what is not dead any more", open(counts{Failures: 1}),
		by(func(r row) row { return r.Purge(at) }),
		open(counts{Failures: 1}),
		ledger.Effects{}},
	{"What is erased is not in the file any more.", "erase a dead letter", dead(counts{}),
		by(func(r row) row { return r.Erase(at) }),
		row{Delivery: counts{Failures: 3}, State: ledger.Discarded, Reason: engine.ReasonErased, Ended: at, Tries: 3},
		ledger.Effects{}},
	{"What is erased is not in the file any more.", "erase a dead letter that was discarded", dead(counts{}).Discard("why", before),
		by(func(r row) row { return r.Erase(at) }),
		row{Delivery: counts{Failures: 3}, State: ledger.Discarded, Reason: engine.ReasonErased, Ended: before, Tries: 3},
		ledger.Effects{}},
	{"What is erased is not in the file any more.", "erase what was handled", row{State: ledger.Done, Ended: before, Tries: 1},
		by(func(r row) row { return r.Erase(at) }),
		row{State: ledger.Done, Ended: before, Tries: 1},
		ledger.Effects{}},
	{"What is erased is not in the file any more.", "erase what is open", open(counts{}).Cancel("why"),
		by(func(r row) row { return r.Erase(at) }),
		open(counts{}).Cancel("why"),
		ledger.Effects{}},
}

func TestEveryTransitionIsAsTheTableSays(t *testing.T) {
	for _, one := range transitions {
		got, effects := one.input(one.from)
		if diff := cmp.Diff(one.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", one.name, diff)
		}
		if diff := cmp.Diff(one.effects, effects); diff != "" {
			t.Errorf("%s, effects (-want +got):\n%s", one.name, diff)
		}
	}
}

func TestEveryTransitionHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, one := range transitions {
		if seen[one.name] {
			t.Errorf("two transitions are called %q", one.name)
		}
		seen[one.name] = true
	}
}

func TestAnImportedDeadLetterHasItsCountsAndAttempts(t *testing.T) {
	attempts := []event.FailedAttempt{{Kind: event.KindError}, {Kind: event.KindError}, {Kind: event.KindCrash}}
	letter := &event.DeadLetter{
		PublishedAt: before, DeadAt: at, Reason: event.ReasonMaxAttempts, Fingerprint: "f", Failures: 1, Redriven: 2, Progress: "[a]", Attempts: attempts,
	}
	want := row{
		Delivery: counts{Failures: 1, Uncounted: 2, Together: 1, Since: before, Progress: "[a]"}, State: ledger.Dead,
		Tries: 3, History: 2, Redriven: 2, Reason: event.ReasonMaxAttempts, Fingerprint: "f", Ended: at,
	}
	if diff := cmp.Diff(want, ledger.Import(letter, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	letter.Attempts = attempts[:2] // its last attempt was no crash, and it has an event of its own
	want.Together, want.Delayed, want.Tries, want.History, want.Uncounted = 0, true, 2, 1, 1
	if diff := cmp.Diff(want, ledger.Import(letter, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADispatcherSeesWhatIsKnownOfADelivery(t *testing.T) {
	old := &engine.Delivery{Failures: 9, Held: &before, Token: "kept"}
	ledger.Delivery{
		Failures: 1, Uncounted: 2, MaxAttempts: 3, Snoozes: 4, Together: 5, Crashed: true, Retried: true, Replayed: true, Since: at, Progress: "[a]", Run: 6, Undoing: true,
	}.HandOut(old)
	want := &engine.Delivery{
		Failures: 1, Uncounted: 2, MaxAttempts: 3, Snoozes: 4, Together: 5, Suspect: true, Crashed: true, Exempt: true, Replayed: true, Since: at, Progress: "[a]",
		Run: 6, Undoing: true, Token: "kept",
	}
	if diff := cmp.Diff(want, old); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	held := &engine.Delivery{}
	counts{HeldSince: before}.HandOut(held)
	if held.Held == nil || !held.Held.Equal(before) || held.Suspect {
		t.Errorf("it is held since %v (suspect: %v)", held.Held, held.Suspect)
	}
	counts{Together: 1}.HandOut(held)
	if !held.Suspect || held.Crashed || held.Held != nil {
		t.Errorf("suspect: %v, crashed: %v, held since %v", held.Suspect, held.Crashed, held.Held)
	}
}

func TestWhatADispatcherHasSeenIsHandedOutAgain(t *testing.T) {
	for _, d := range []*engine.Delivery{
		{},
		{Failures: 1, Uncounted: 2, MaxAttempts: 3, Snoozes: 4, Together: 5, Suspect: true, Crashed: true, Exempt: true, Since: at, Progress: "[a]"},
		{Replayed: true, Held: &before, Run: 3, Undoing: true},
	} {
		again := &engine.Delivery{}
		ledger.Seen(d).HandOut(again)
		if diff := cmp.Diff(d, again); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if seen := ledger.Seen(&engine.Delivery{Suspect: true}); seen.Together != 1 {
		t.Errorf("a suspect runs together with %d", seen.Together)
	}
}

func TestADispositionSettlesADeliveryIfItsTurnDoes(t *testing.T) {
	for how := engine.Done; how <= engine.Undo; how++ {
		_, effects := ledger.Delivery{}.After(true, &engine.Disposition{Kind: how}, ledger.Moment{})
		if effects.Settled != ledger.Settles(how) {
			t.Errorf("disposition %d settles: %v, and its turn: %v", how, ledger.Settles(how), effects.Settled)
		}
	}
}
