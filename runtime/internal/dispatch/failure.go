package dispatch

import (
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
	"github.com/busgen/busgen/runtime/internal/guard"
	"github.com/busgen/busgen/runtime/retry"
)

// failure is how an attempt has failed.
type failure struct {
	err         error  // nil if its methods panic
	text        string // what the error says
	typ         string // the Go type of the error, or of what it wraps, with its code
	kind, stack string
	steering    errs.Steering     // what the handler asks for, or nil
	decode      *errs.DecodeError // the handler was not called; or nil
	rule        *ErrorRule        // the first that matches, or nil
	stopped     bool              // it is, or wraps, ErrShutdown
	uncommitted bool              // the handler has not failed, but its transaction
}

// examine looks at an error, with code of the program, which may end the goroutine: see [Attempt.classify].
func (a *Attempt) examine(err error, kind, stack string) failure {
	f := failure{typ: errs.TypeName(err), kind: kind, stack: stack}
	text, readable := errs.TextOf(err)
	steering, steers := errs.Find[errs.Steering](err)
	decode, decodes := errs.Find[*errs.DecodeError](err)
	uncommitted, _ := errs.Find[*errs.UncommittedError](err)
	f.uncommitted = uncommitted != nil
	f.text, f.steering, f.decode = text, steering, decode
	if code := errs.CodeOf(err); code != "" {
		f.typ += "(" + code + ")"
	}
	f.stopped = errs.Matches(func(err error) bool { return errors.Is(err, errs.ErrShutdown) }, err)
	switch {
	case readable && steers && decodes:
		f.err = err
	case readable:
		f.text += " " + errs.Unreadable(err, "Unwrap, Is or As")
	}
	if kind != event.KindError {
		f.text = a.inStep() + f.text
	}
	settings := a.handler.Settings(a.Type) // in a group the member's own
	if forced := kind == event.KindTimeout || kind == event.KindInterrupted; forced && len(settings.Errors) > 0 {
		f.rule = a.run.site.ruleInTime(settings, err)
	} else {
		f.rule = settings.rule(err)
	}
	return f
}

// rule returns the first rule that matches an error, or nil.
func (s *Settings) rule(err error) *ErrorRule {
	for i := range s.Errors {
		if errs.Matches(s.Errors[i].Match, err) {
			return &s.Errors[i]
		}
	}
	return nil
}

// ruleInTime is rule where nobody can be left behind. It does not wait for a function that blocks, and as long as it
// does none is asked again.
func (s *site) ruleInTime(settings *Settings, err error) *ErrorRule {
	if s.unanswered.Load() > 0 {
		return nil
	}
	s.unanswered.Add(1)
	found := make(chan *ErrorRule, 1)
	if !guard.InTime(func() {
		defer s.unanswered.Add(-1)
		found <- settings.rule(err)
	}) {
		s.cfg.Logger.Warn("a function that matches errors does not return; it counts as one that does not match", "subscription_id", s.cfg.Name)
		return nil
	}
	select {
	case rule := <-found:
		return rule
	default: // it has ended its goroutine
		return nil
	}
}

// timeout is the failure of an attempt that outlived its deadline.
func (a *Attempt) timeout() failure {
	return a.classify(a.lateness(), event.KindTimeout, "")
}

// lateness is the error of that: it was the handler's time that ended, or that of
// the event.
func (a *Attempt) lateness() error {
	if _, expires := a.bounds(); expires {
		return &errs.ExpiredError{After: a.run.settings.ExpiresAfter}
	}
	after := a.limit
	if a.waited() != nil {
		after = a.settings.Timeout
	}
	return &errs.TimeoutError{After: after, Attempt: a.Number}
}

// fail decides, for who holds mu, what becomes of an attempt that did not succeed: another one
// later, a dead letter, or what the handler has asked for.
func (a *Attempt) fail(f failure) {
	now := time.Now()
	if f.err != nil {
		a.extras().failed = f.err
	}
	switch asked := f.steering.(type) {
	case *errs.DiscardError:
		reason := asked.Reason
		if reason == engine.ReasonCancelled { // which says that somebody else has done it
			reason += " by its handler"
		}
		a.discard(reason, now)
		return
	case *errs.AnsweredError:
		a.yield(asked.Reason, now)
		return
	}
	if cause := a.interrupted(); cause != nil {
		if a.extra.Load().interruption.lost != "" {
			a.lose(f, now)
			return
		}
		a.withdraw() // it says nothing about the handler
		reason, _ := errs.TextOf(cause)
		a.tell(a.handler.Count.Discarded(a, reason, now))
		_, cancelled := a.run.site.consumer.Cancelled(a.Seq)
		a.settle(a.run.disposition(engine.Disposition{Kind: engine.Discard, Reason: reason, Cancelled: cancelled}))
		return
	}
	a.run.uncalled = a.first && f.decode != nil
	failure := &event.FailedAttempt{
		Kind: f.kind, Started: a.started, Ended: now, Error: f.text, ErrorType: f.typ, Stack: f.stack, Log: a.closeJournal(),
	}
	if a.run.site.cfg.Group {
		failure.Member = a.handler.Name
	}
	if f.uncommitted {
		a.putBack(f)
		return
	}
	if asked, ok := f.steering.(*errs.SnoozeError); ok {
		a.snooze(now.Add(max(clamp(asked.For), leastSnooze)), now, failure)
		return
	}
	if _, expires := a.bounds(); expires && f.kind == event.KindTimeout {
		a.withdraw() // the event had little time, which says nothing about the handler
		a.deadLetterFailed(event.ReasonExpired, failure)
		return
	}
	if f.decode != nil {
		failure.Kind = event.KindDecode
		if f.decode.Stack != "" {
			failure.Stack = f.decode.Stack
		}
		a.withdraw() // the handler was not called
		a.deadLetterFailed(event.ReasonDecode, failure)
		return
	}
	if _, ok := f.steering.(*errs.RollbackError); ok && !a.Undoing {
		a.permit.Success(now)
		a.deadLetterFailed(event.ReasonUndone, failure)
		return
	}
	a.failPermit(now, fmt.Sprint(a.shown(f.text)))
	due, reason := a.next(f, now)
	if reason != "" {
		a.deadLetterFailed(reason, failure)
		return
	}
	a.logFailure(failure, due.Sub(now))
	a.tell(a.handler.Count.Failed(a, failure, due))
	v := engine.Disposition{Kind: engine.Retry, Attempt: failure, Due: due}
	if f.rule != nil {
		v.MaxAttempts = f.rule.Retry.MaxAttempts
	}
	a.settle(a.run.disposition(v))
}

// next returns when to try again, or the reason not to, by the settings in
// force now.
func (a *Attempt) next(f failure, now time.Time) (due time.Time, reason string) {
	settings := a.run.inForce()
	policy := settings.Retry
	if f.rule != nil {
		policy = f.rule.Retry
	}
	a.allow(policy.MaxAttempts)
	failures, _ := a.counts()
	failures++
	delay := policy.Jittered(failures+1, a.ID, a.run.site.cfg.Name)
	permanent := f.rule != nil && f.rule.Permanent
	switch asked := f.steering.(type) {
	case *errs.PermanentError, *errs.HopLimitError:
		permanent = true
	case *errs.StepError:
		return now, asked.Reason
	case *errs.RetryAfterError:
		permanent = false
		delay = clamp(asked.After)
	}
	due = now.Add(delay)
	switch {
	case permanent:
		return due, event.ReasonPermanent
	case policy.Exhausted(failures):
		return due, event.ReasonMaxAttempts
	case settings.ExpiresAfter > 0 && due.Sub(a.Since) >= settings.ExpiresAfter:
		return due, event.ReasonExpired
	}
	return due, ""
}

// leastSnooze is how long a snooze puts the delivery off at least: a handler that waits for a time that has passed would
// be called again without a pause, and each call is written.
const leastSnooze = 100 * time.Millisecond

// clamp bounds a delay that a handler has chosen.
func clamp(d time.Duration) time.Duration { return min(max(d, 0), retry.LimitDelay) }

// snooze puts the delivery off, for who holds mu, which does not count as a failed attempt, unless that
// has happened too often or the event would have expired by then.
func (a *Attempt) snooze(until, now time.Time, failure *event.FailedAttempt) {
	a.withdraw()
	settings := a.run.inForce()
	switch {
	case settings.MaxSnoozes > 0 && a.Snoozes >= settings.MaxSnoozes:
		failure.Error = fmt.Sprintf("it was snoozed %d times before, and max_snoozes allows no more (now: %s)", a.Snoozes, failure.Error)
		a.deadLetterFailed(event.ReasonMaxSnoozes, failure)
	case settings.ExpiresAfter > 0 && until.Sub(a.Since) >= settings.ExpiresAfter:
		failure.Error += fmt.Sprintf(", and expires %v after it was published", settings.ExpiresAfter)
		a.deadLetterFailed(event.ReasonExpired, failure)
	default:
		a.tell(a.handler.Count.Snoozed(a, until, now))
		a.settle(a.run.disposition(engine.Disposition{Kind: engine.Snooze, Due: until, Asked: true}))
	}
}

// discard settles the delivery because the handler says so. In a group that is
// its last word for all members.
func (a *Attempt) discard(reason string, now time.Time) {
	a.permit.Success(now)
	a.tell(a.handler.Count.Discarded(a, reason, now))
	a.settle(a.run.disposition(engine.Disposition{Kind: engine.Discard, Reason: reason}))
}

// yield settles the delivery because others have answered. In a group the next member has its turn.
func (a *Attempt) yield(reason string, now time.Time) {
	a.withdraw()
	a.tell(a.handler.Count.Discarded(a, reason, now))
	if a.run.site.cfg.Group {
		a.goOn()
		return
	}
	a.settle(engine.Disposition{Kind: engine.Discard, Reason: reason})
}

// lose settles the delivery for a handler that has failed after others had answered. What a
// handler does whose context was ended says nothing about it. In a group the delivery
// comes back for the other members: perhaps no worker goes on with it now.
func (a *Attempt) lose(f failure, now time.Time) {
	s := a.run.site
	s.cfg.Logger.Info("a handler has failed whose answer was not needed any more; its delivery is discarded", a.logged("error", f.text)...)
	if !s.cfg.Group {
		a.yield(a.extra.Load().interruption.lost, now)
		return
	}
	a.withdraw()
	a.settle(a.run.disposition(engine.Disposition{Kind: engine.Snooze, Due: now}))
}

// deadLetterFailed makes the delivery a dead letter after its last attempt.
func (a *Attempt) deadLetterFailed(reason string, failure *event.FailedAttempt) {
	a.logFailure(failure, 0)
	a.tell(a.handler.Count.Failed(a, failure, time.Time{}))
	a.deadLetter(reason, failure)
}

// deadLetter makes the delivery a dead letter. There is no failure when nothing was
// tried: its last attempt ended with its process, or it has expired.
func (a *Attempt) deadLetter(reason string, failure *event.FailedAttempt) {
	s := a.run.site
	if word, cancelled := s.consumer.Cancelled(a.Seq); cancelled { // so there is nothing to announce
		a.settle(a.run.disposition(engine.Disposition{Kind: engine.Discard, Attempt: failure, Reason: word, Cancelled: true}))
		return
	}
	last := failure
	if last == nil {
		last = &event.FailedAttempt{Error: engine.CrashText}
		if reason == event.ReasonExpired {
			last.Error = fmt.Sprintf("it was not handled within %v", a.run.settings.ExpiresAfter)
		}
	}
	switch {
	case a.rollback(reason, failure, *last):
		return
	case a.Undoing && reason != event.ReasonUndone:
		reason = event.ReasonUndo
	}
	attributes := a.logged("reason", reason, "error", last.Error)
	if a.Critical() {
		attributes = append(attributes, "alert", "critical")
	}
	if s.cfg.Ephemeral {
		s.cfg.Logger.Error("an ephemeral subscription drops an event that its handler cannot handle", attributes...)
	} else {
		s.cfg.Logger.Error("event is dead-lettered", attributes...)
	}
	a.tell(a.handler.Count.Dead(a, reason, last))
	v := a.run.disposition(engine.Disposition{
		Kind: engine.Dead, Attempt: failure, Reason: reason,
		// Of the text that everybody may see: else who guesses a hidden value could compare.
		Fingerprint: fingerprint.Of(reason, last.ErrorType, fmt.Sprint(a.shown(last.Error)), last.Stack),
	})
	if !s.cfg.Ephemeral {
		d := *a.Delivery
		d.Failures, d.Uncounted = a.counts()
		v.Staged = append(v.Staged, s.cfg.Notice(&d, v)...)
	}
	a.settle(v)
}

// logFailure emits the one line that every failed attempt gets.
func (a *Attempt) logFailure(failure *event.FailedAttempt, delay time.Duration) {
	a.run.site.cfg.Logger.Warn("event handler failed",
		a.logged("max_attempts", a.Max(), "delay_ms", delay.Milliseconds(), "error", failure.Error)...)
}

// classify looks at the error of an attempt. The code of the program that is called for that may end its
// goroutine, which must not be the worker's.
func (a *Attempt) classify(err error, kind, stack string) failure {
	f, ok := guard.Apart(func() failure { return a.examine(err, kind, stack) })
	if !ok {
		f = failure{kind: kind, stack: stack, typ: fmt.Sprintf("%T", err)}
		f.text = fmt.Sprintf("(an error of type %T: one of its methods, or a function that matches errors, has ended its goroutine)", err)
	}
	return f
}

// Decoding says that code of the program begins to decode the payload for the handler, or has done so. The
// error says that the attempt is over, so that the handler must not be called.
func (a *Attempt) Decoding(begins bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run.decoding = begins; a.over {
		return errs.ErrOver
	}
	return nil
}

func (a *Attempt) decodes() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run.decoding
}

// exited is the error of an attempt whose goroutine was ended.
func (a *Attempt) exited(stack string) error {
	if a.decodes() {
		return &errs.DecodeError{Err: DecodingExited(a.Type), Stack: stack}
	}
	return errors.New("the handler ended its goroutine (runtime.Goexit)")
}

// DecodingExited is the error for a payload whose code ends the goroutine that decodes it.
func DecodingExited(eventType string) error {
	return fmt.Errorf("the payload of this %s event cannot be decoded: its code has ended the goroutine (runtime.Goexit)", eventType)
}

// during says of the error of an attempt that is late that the handler was not even called.
func (a *Attempt) during(late error) error {
	if a.decodes() {
		return fmt.Errorf("code of the program still decodes the payload, and the handler was not called: %w", late)
	}
	return late
}
