package runtime

import (
	"encoding/json"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// MarshalJSON gives the settings in the words of the catalogue, with durations as
// texts. What is off is left out. A rule for errors has its whole retry policy.
func (s Settings) MarshalJSON() ([]byte, error) {
	encoded := settingsJSON{
		Retry: retryJSONOf(s.Retry), Timeout: durationText(s.Timeout), SlowAfter: durationText(s.SlowAfter),
		ExpiresAfter: durationText(s.ExpiresAfter), Breaker: breakerJSONOf(s.Breaker), FailureThrottle: s.FailureThrottle,
		MaxSnoozes: s.MaxSnoozes,
	}
	for _, rule := range s.Errors {
		one := errorRuleJSON{Class: rule.Class, Permanent: rule.Permanent}
		if !rule.Permanent {
			policy := retryJSONOf(s.Retry.With(rule.Retry...))
			one.Retry = &policy
		}
		encoded.Errors = append(encoded.Errors, one)
	}
	if r := s.Redrive; r.Max > 0 {
		encoded.Redrive = &redriveJSON{Reasons: r.Reasons, Every: durationText(r.Every), Max: r.Max}
	}
	return json.Marshal(encoded)
}

type settingsJSON struct {
	Retry           retryJSON       `json:"retry"`
	Timeout         string          `json:"timeout"`
	SlowAfter       string          `json:"slow_after,omitempty"`
	ExpiresAfter    string          `json:"expires_after,omitempty"`
	MaxSnoozes      int             `json:"max_snoozes,omitempty"`
	Breaker         *breakerJSON    `json:"breaker,omitempty"`
	FailureThrottle int             `json:"failure_throttle,omitempty"`
	Errors          []errorRuleJSON `json:"errors,omitempty"`
	Redrive         *redriveJSON    `json:"redrive,omitempty"`
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
}

func breakerJSONOf(p breaker.Policy) *breakerJSON {
	if p.Off {
		return nil
	}
	return &breakerJSON{p.Threshold, p.MinSamples, p.Window.String(), p.OpenFor.String()}
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
