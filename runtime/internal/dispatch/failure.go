package dispatch

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// errorLimit bounds the text of an error that is kept, in bytes.
const errorLimit = 16 << 10

// failure is how an attempt has failed.
type failure struct {
	err         error
	text        string // of err
	kind, stack string
}

// timeout is the failure of an attempt that outlived its deadline.
func (a *Attempt) timeout() failure {
	err := &TimeoutError{a.settings.Timeout}
	return failure{err: err, text: err.Error(), kind: engine.KindTimeout}
}

// fail decides what becomes of a failed attempt: another one later, or a dead
// letter.
func (a *Attempt) fail(f failure) {
	failure := &engine.Attempt{Kind: f.kind, Started: a.started, Ended: time.Now(), Error: f.text, Stack: f.stack}
	if decode := (*DecodeError)(nil); errors.As(f.err, &decode) {
		failure.Kind = engine.KindDecode
		a.logFailure(failure, 0)
		a.bury(engine.ReasonDecode, failure)
		return
	}
	failures := a.Failures + 1
	if a.settings.Retry.Exhausted(failures) {
		a.logFailure(failure, 0)
		a.bury(engine.ReasonMaxAttempts, failure)
		return
	}
	delay := a.settings.Retry.Jittered(failures+1, a.ID, a.sub.cfg.Name)
	a.logFailure(failure, delay)
	a.sub.cfg.Count.Failed(a.Type, true)
	a.settle(engine.Verdict{Kind: engine.Retry, Attempt: failure, Due: failure.Ended.Add(delay)})
}

// bury makes the delivery a dead letter. There is no failure when the last
// attempt ended with its process.
func (a *Attempt) bury(reason string, failure *engine.Attempt) {
	text := "the process ended while the handler was running"
	if failure != nil {
		text = failure.Error
		a.sub.cfg.Count.Failed(a.Type, false)
	}
	a.sub.cfg.Logger.LogAttrs(a.sub.base, slog.LevelError, "event is dead-lettered",
		slog.String("event_id", a.ID.String()), slog.String("event_type", a.Type),
		slog.String("subscription_id", a.sub.cfg.Name), slog.String("reason", reason), slog.String("error", text))
	a.sub.cfg.Count.Dead(a.Type)
	a.settle(engine.Verdict{Kind: engine.Dead, Attempt: failure, Reason: reason})
}

// logFailure emits the one line that every failed attempt gets.
func (a *Attempt) logFailure(failure *engine.Attempt, delay time.Duration) {
	a.sub.cfg.Logger.LogAttrs(a.sub.base, slog.LevelWarn, "event handler failed",
		slog.String("event_id", a.ID.String()), slog.String("event_type", a.Type),
		slog.String("subscription_id", a.sub.cfg.Name),
		slog.Int("attempt", a.Number), slog.Int("max_attempts", a.Max),
		slog.Int64("delay_ms", delay.Milliseconds()), slog.String("error", failure.Error))
}

// textOf returns the text of an error, whatever its Error method does.
func textOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("(an error of type %T whose Error method panics)", err)
		}
	}()
	text = err.Error()
	if len(text) > errorLimit {
		text = fmt.Sprintf("%s … (%d bytes more)", text[:errorLimit], len(text)-errorLimit)
	}
	return text
}
