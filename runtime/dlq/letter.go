package dlq

import (
	"encoding/json"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Letter is a dead letter with everything that is known about it. As JSON it
// is an object with the fields of its tags, which is a line of
// [Inspector.Export].
type Letter struct {
	Key
	Type        string          `json:"type"`               // of the event: order.placed
	Version     int             `json:"version"`            // of the payload
	Payload     json.RawMessage `json:"payload,omitempty"`  // as stored
	Metadata    json.RawMessage `json:"metadata,omitempty"` // an object of strings; nil without
	PublishedAt time.Time       `json:"published_at"`       // UTC
	DeadAt      time.Time       `json:"dead_at"`            // UTC
	Reason      string          `json:"reason"`             // max_attempts, permanent, decode, crash, expired or max_snoozes
	Fingerprint string          `json:"fingerprint"`        // the same for failures of the same kind; see [Inspector.Groups]
	Failures    int             `json:"failures"`           // attempts charged since it was published or last retried
	Redriven    int             `json:"redriven,omitzero"`  // how often it was retried automatically since
	Progress    string          `json:"progress,omitempty"` // of a group of handlers: which of them have handled it
	// Attempts are the failed executions, oldest first, including those before
	// a Retry.
	Attempts []Attempt `json:"attempts"`
}

// Attempt is a failed execution of a handler.
type Attempt struct {
	Kind      string    `json:"kind"`                 // error, panic, goexit, timeout, decode, crash or interrupted
	Started   time.Time `json:"started_at,omitzero"`  // UTC; zero for a crash
	Ended     time.Time `json:"ended_at"`             // UTC; of a crash: when it was noticed
	Error     string    `json:"error"`                // its text
	ErrorType string    `json:"error_type,omitempty"` // its Go type: *fs.PathError
	Member    string    `json:"member,omitempty"`     // of a group of handlers: the one that failed
	Stack     string    `json:"stack,omitempty"`      // of a panic or goexit
}

// LastError returns the error of the last attempt.
func (l Letter) LastError() string { return l.last().Error }

func (l Letter) last() Attempt {
	if len(l.Attempts) == 0 {
		return Attempt{}
	}
	return l.Attempts[len(l.Attempts)-1]
}

func letterOf(f sqlite.DeadLetter) Letter {
	letter := Letter{
		Key:  keyOf(f.LetterKey),
		Type: f.Type, Version: f.Version, Payload: f.Payload, Metadata: f.Metadata,
		PublishedAt: f.CreatedAt, DeadAt: f.Mark.DeadAt, Reason: f.Reason, Fingerprint: f.Fingerprint,
		Failures: f.Failures, Redriven: f.Redriven, Progress: f.Progress,
	}
	for _, a := range f.Attempts {
		letter.Attempts = append(letter.Attempts, Attempt(a))
	}
	return letter
}

func lettersOf(found []sqlite.DeadLetter) []Letter {
	letters := make([]Letter, len(found))
	for i, f := range found {
		letters[i] = letterOf(f)
	}
	return letters
}

func (l Letter) stored() sqlite.DeadLetter {
	stored := sqlite.DeadLetter{
		LetterKey: l.Key.stored(),
		Mark:      sqlite.LetterMark{DeadAt: l.DeadAt},
		Type:      l.Type, Version: l.Version, Payload: l.Payload, Metadata: l.Metadata, CreatedAt: l.PublishedAt,
		Reason: l.Reason, Fingerprint: l.Fingerprint, Failures: l.Failures, Redriven: l.Redriven, Progress: l.Progress,
	}
	for _, a := range l.Attempts {
		stored.Attempts = append(stored.Attempts, engine.FailedAttempt(a))
	}
	return stored
}
