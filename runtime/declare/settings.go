package declare

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// Settings steer the deliveries of one event type, or of one subscription that
// the catalogue declares. Generated code has them from the catalogue, package
// tuning replaces them while a bus runs, and the options of a subscription
// override them.
type Settings struct {
	// Retry says how often and when a failed event is tried again.
	Retry retry.Policy
	// Timeout is how long one attempt may take; 0 for as long as it likes. See runtime.WithoutTimeout.
	Timeout time.Duration
	// SlowAfter is how long an attempt may take before it is logged as slow,
	// once. 0 for never.
	SlowAfter time.Duration
	// SlowEventAfter is after what time an event that is not handled is reported as
	// slow: see runtime.WithSlowEventAfter, which decides if it is 0. runtime.Forever for never. In a group
	// each member has its own.
	SlowEventAfter time.Duration
	// ExpiresAfter is how long after its publication (its due time, if it was
	// delayed; its last retry by hand, if it was dead) an event may still be
	// tried. What is not handled by then is dead-lettered as expired, tried or
	// not; the context of a handler that is at work ends at that moment, with an
	// *runtime.ExpiredError as its cause. 0 for no limit.
	ExpiresAfter time.Duration
	// HoldUnknown is how long an event is held whose version this program cannot read, because
	// a newer one has published it: uncounted, and in its place of a strict order. A program that
	// takes over and knows the version handles it. After that time it is dead-lettered, with
	// reason decode; with 0 at once. Handlers of runtime.Raw get such events, and ephemeral
	// subscriptions drop them. In a group the longest time of a member holds for all.
	HoldUnknown time.Duration
	// MaxSnoozes is how often a handler may put an event off (runtime.Snooze). The next
	// time it is dead-lettered, with reason max_snoozes. 0 for no limit.
	MaxSnoozes int
	// Breaker says when a subscription stops for a while because its handler
	// fails too often.
	Breaker breaker.Policy
	// Concurrency is how many handlers of a subscription run at once, from 1 to 1024; 0
	// stands for 1. A subscription has it from when it begins to deliver until it ends. One
	// that is for several event types has the smallest of theirs. See runtime.WithConcurrency.
	Concurrency int
	// StrictOrder makes a failing event hold back the later ones of its partition key until it
	// is settled: see runtime.WithStrictOrder. A subscription has it from when it begins to deliver
	// until it ends. One that is for several event types has it if one of them does. Those for
	// dead letters have it by that option alone.
	StrictOrder bool
	// Batch says how large the batches of subscriptions are that handle events in batches
	// (runtime.SubscribeBatch). The others do not use it.
	Batch Batch
	// Limits are those that a delivery needs to begin, each once. A subscription to dead letters does not
	// have those of the event type. See [Limit] and runtime.WithLimits.
	Limits []LimitUse
	// Errors say what kinds of errors mean; the first that matches decides.
	Errors []ErrorRule
	// Redrive says which dead letters are retried automatically.
	Redrive Redrive
}

// Override holds the settings that one place sets: the defaults of a catalogue, a policy, an
// event or a subscription, or the options of a call that subscribes. What it does not set is
// inherited, field by field. A field that is nil, or has no options, is not set; a pointer to
// zero sets zero. [Settings] says what each means. An Override is not changed once it is in use.
type Override struct {
	Retry          []retry.Option
	Timeout        *time.Duration // 0 for as long as it likes
	SlowAfter      *time.Duration // 0 for never
	SlowEventAfter *time.Duration // Forever for never
	ExpiresAfter   *time.Duration // 0 for no limit
	HoldUnknown    *time.Duration // 0 for not at all
	MaxSnoozes     *int           // 0 for no limit
	Breaker        []breaker.Option
	Concurrency    *int
	StrictOrder    *bool
	BatchSize      *int
	BatchWait      *time.Duration
	Limits         []LimitUse  // replaces all; empty but not nil for none
	Errors         []ErrorRule // go before those that are inherited; of one class they are one rule
	Redrive        RedriveOverride
}

// ErrorRule says what errors of one class mean.
type ErrorRule struct {
	// Class is a name that the program registers with runtime.WithErrorClass. A rule
	// whose class is not registered never matches; a bus that is started logs an
	// error for it.
	Class string
	// Permanent means that another attempt is in vain: the event is
	// dead-lettered at once.
	Permanent bool
	// Retry overrides fields of the policy for failures of this class.
	Retry []retry.Option
}

// Redrive says which dead letters are retried automatically, with a fresh
// count of attempts. The zero value means none.
type Redrive struct {
	// Reasons chooses by the reason of the dead letter (max_attempts,
	// permanent, decode, crash, expired, max_snoozes, max_steps, undo) or by how its last attempt failed
	// (error, panic, goexit, timeout, interrupted). Empty for all but those whose last
	// attempt ended the process, which need crash.
	Reasons []string
	// Every is how long the bus waits before it retries a dead letter.
	Every time.Duration
	// Max is how often a dead letter is retried in this way.
	Max int
}

// DefaultSettings returns the settings of an event type whose catalogue sets
// nothing: the default retry policy and breaker, 30 s for an attempt, a warning
// after 10 s, and 10,000 snoozes.
func DefaultSettings() Settings {
	s := Settings{Retry: retry.Default(), Breaker: breaker.Default()}
	for i, row := range setting.Plain {
		if row.Off && !row.BusDecides {
			inSettings.Put(&s, i, row.Default)
		}
	}
	return s
}

// Validate returns nil for settings that a bus can follow, and otherwise every
// problem in one error.
func (s Settings) Validate() error {
	problems := []error{s.Retry.Validate(), s.Breaker.Validate()}
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	for i, row := range setting.Plain {
		n, _ := inSettings.Get(&s, i)
		if row.Off {
			require(n >= 0, "%s is %v: it must not be negative", row.Go, row.InGo(n))
		} else {
			require(n >= 0 && n <= row.Most, "%s is %d: it must be between 1 and %d, or 0 for 1", row.Go, n, row.Most)
		}
	}
	if err := s.Batch.Validate(); err != nil {
		problems = append(problems, err)
	}
	if err := ValidateUses(s.Limits); err != nil {
		problems = append(problems, fmt.Errorf("Limits: %w", err))
	}
	for _, rule := range s.Errors {
		require(rule.Class != "", "Errors has a rule without a Class")
		if err := s.Retry.With(rule.Retry...).Validate(); err != nil && s.Retry.Validate() == nil {
			problems = append(problems, fmt.Errorf("the retry policy of error class %s: %w", rule.Class, err))
		}
	}
	if r := s.Redrive; r.Max != 0 || r.Every != 0 || len(r.Reasons) > 0 {
		require(r.Every > 0 && r.Max > 0, "Redrive has Every %v and Max %d: both must be positive", r.Every, r.Max)
		for _, reason := range r.Reasons {
			require(slices.Contains(engine.Reasons(), reason) || slices.Contains(engine.Kinds(), reason),
				"Redrive has the reason %q: use %v or %v", reason, engine.Reasons(), engine.Kinds())
		}
	}
	return errors.Join(problems...)
}

// MarshalJSON gives the settings in the words of the catalogue, with durations as
// texts. What is off is left out, except that a duration is "off" whose default is another. A
// rule for errors has its whole retry policy.
func (s Settings) MarshalJSON() ([]byte, error) {
	encoded := map[string]any{"retry": retryJSONOf(s.Retry)}
	for i, row := range setting.Plain {
		n, _ := inSettings.Get(&s, i)
		off := n == 0 && !row.BusDecides || n == math.MaxInt64
		switch {
		case off && row.Kind == setting.Span && row.Default != 0:
			encoded[row.Key] = "off"
		case n != 0 && row.Kind == setting.Span:
			encoded[row.Key] = time.Duration(n).String()
		case n != 0 && row.Kind == setting.Flag:
			encoded[row.Key] = true
		case n != 0:
			encoded[row.Key] = n
		}
	}
	if breaker := breakerJSONOf(s.Breaker); breaker != nil {
		encoded["breaker"] = breaker
	}
	if len(s.Limits) > 0 {
		encoded["limits"] = s.Limits
	}
	if s.Batch != (Batch{}) {
		b := s.Batch.WithDefaults()
		encoded["batch"] = batchJSON{b.Size, b.Wait.String()}
	}
	var rules []errorRuleJSON
	for _, rule := range s.Errors {
		one := errorRuleJSON{Class: rule.Class, Permanent: rule.Permanent}
		if !rule.Permanent {
			policy := retryJSONOf(s.Retry.With(rule.Retry...))
			one.Retry = &policy
		}
		rules = append(rules, one)
	}
	if rules != nil {
		encoded["errors"] = rules
	}
	if r := s.Redrive; r.Max > 0 {
		encoded["redrive"] = redriveJSON{Reasons: r.Reasons, Every: durationText(r.Every), Max: r.Max}
	}
	return json.Marshal(encoded)
}

type batchJSON struct {
	Size int    `json:"size"`
	Wait string `json:"wait"`
}

type retryJSON struct {
	MaxAttempts int     `json:"max_attempts"`
	Backoff     string  `json:"backoff"`
	BaseDelay   string  `json:"base_delay"`
	MaxDelay    string  `json:"max_delay"`
	Multiplier  float64 `json:"multiplier"`
	Jitter      float64 `json:"jitter"`
}

func retryJSONOf(p retry.Policy) retryJSON {
	return retryJSON{p.MaxAttempts, p.Backoff.String(), p.BaseDelay.String(), p.MaxDelay.String(), p.Multiplier, p.Jitter}
}

type breakerJSON struct {
	Threshold  float64 `json:"threshold"`
	MinSamples int     `json:"min_samples"`
	Window     string  `json:"window"`
	OpenFor    string  `json:"open_for"`
	By         string  `json:"by,omitempty"`
}

func breakerJSONOf(p breaker.Policy) *breakerJSON {
	if p.Off {
		return nil
	}
	return &breakerJSON{p.Threshold, p.MinSamples, p.Window.String(), p.OpenFor.String(), p.By}
}

type errorRuleJSON struct {
	Class     string     `json:"class"`
	Permanent bool       `json:"permanent,omitempty"`
	Retry     *retryJSON `json:"retry,omitempty"`
}

type redriveJSON struct {
	Reasons []string `json:"reasons,omitempty"`
	Every   string   `json:"every"`
	Max     int      `json:"max"`
}

// durationText is empty for a duration that stands for off.
func durationText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
