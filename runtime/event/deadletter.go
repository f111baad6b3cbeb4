package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Why a delivery is dead.
const (
	ReasonMaxAttempts = "max_attempts" // its policy allows no further attempt
	ReasonPermanent   = "permanent"    // the handler says that another attempt is in vain
	ReasonDecode      = "decode"       // the payload, or the stored result of a step, could not be decoded
	ReasonCrash       = "crash"        // the process died in its last attempt
	ReasonExpired     = "expired"      // it was not handled in time
	ReasonMaxSnoozes  = "max_snoozes"  // its handler has put it off too often
	ReasonMaxSteps    = "max_steps"    // its handler has done too many steps
	ReasonUndone      = "undone"       // its handler has given up, and what its steps have done is undone
	ReasonUndo        = "undo"         // its handler has given up, and a step cannot be undone
)

// DeadLetter is a delivery that a subscription has given up: its event with payload
// and metadata, when and why it died, and every attempt. As JSON it is a line of
// inspect.File.Export.
type DeadLetter struct {
	Key
	Type    string          `json:"type"`              // of the event: order.placed
	Version int             `json:"version"`           // of the payload
	Payload json.RawMessage `json:"payload,omitempty"` // as stored, unless PayloadBytes says otherwise
	// PayloadBytes is how many a long payload has, of which Payload is the beginning, as a text; else 0.
	PayloadBytes int64           `json:"payload_bytes,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"` // an object of strings; nil without
	PublishedAt  time.Time       `json:"published_at"`       // UTC
	DeadAt       time.Time       `json:"dead_at"`            // UTC
	Reason       string          `json:"reason"`             // max_attempts, permanent, decode, crash, expired, max_snoozes, max_steps, undone or undo
	Fingerprint  string          `json:"fingerprint"`        // the same for failures of the same kind; see [FailureGroup]
	Failures     int             `json:"failures"`           // attempts that count, since it was published or last retried
	Redriven     int             `json:"redriven,omitzero"`  // how often it was retried automatically since
	Progress     string          `json:"progress,omitempty"` // of a group of handlers: the ones that have handled it
	// Attempts are the failed executions, oldest first, including those before a
	// retry.
	Attempts []FailedAttempt `json:"attempts"`
}

// LastAttempt returns the last attempt, or a zero FailedAttempt if there was none.
func (d DeadLetter) LastAttempt() FailedAttempt {
	if len(d.Attempts) == 0 {
		return FailedAttempt{}
	}
	return d.Attempts[len(d.Attempts)-1]
}

// plainDeadLetter is a DeadLetter that encoding/json treats as any struct.
type plainDeadLetter DeadLetter

// encodedDeadLetter is the JSON of a dead letter. A payload that is not JSON, which
// only other programs can have stored, is kept in base64.
type encodedDeadLetter struct {
	plainDeadLetter
	Raw []byte `json:"raw_payload,omitempty"`
}

// MarshalJSON returns a line of an export. A payload that is not JSON is in the
// field raw_payload, in base64.
func (d DeadLetter) MarshalJSON() ([]byte, error) {
	encoded := encodedDeadLetter{plainDeadLetter: plainDeadLetter(d)}
	if !json.Valid(d.Payload) {
		encoded.Payload, encoded.Raw = nil, d.Payload
	}
	if encoded.Attempts == nil {
		encoded.Attempts = []FailedAttempt{}
	}
	return marshalUnescaped(encoded)
}

// ParseDeadLetter reads what MarshalJSON returns. A field that dead letters do not
// have is an error.
func ParseDeadLetter(line []byte) (DeadLetter, error) {
	var encoded encodedDeadLetter
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&encoded); err != nil {
		return DeadLetter{}, err
	}
	if encoded.PayloadBytes != 0 {
		return DeadLetter{}, errors.New("payload_bytes says that this is a line of a list, with the beginning of the payload only: export the dead letter")
	}
	if len(encoded.Raw) > 0 {
		encoded.Payload = encoded.Raw
	}
	return DeadLetter(encoded.plainDeadLetter), nil
}

// DeadLetterHistory is a dead letter with the events from which inspect.File.Edit made it, the
// events made from it, and the operators' actions on it.
type DeadLetterHistory struct {
	DeadLetter
	MadeFrom   []uuid.UUID  // the events that operators have edited into this one, the nearest first
	EditedInto []Key        // the events that were made from this one, for other subscriptions
	Audit      []AuditEntry // what was done to this delivery, alone or with others, oldest first
}

// MarshalJSON returns an object with the fields letter, made_from, edited_into and
// audit.
func (h DeadLetterHistory) MarshalJSON() ([]byte, error) {
	return marshalUnescaped(struct {
		Letter     DeadLetter   `json:"letter"`
		MadeFrom   []uuid.UUID  `json:"made_from,omitempty"`
		EditedInto []Key        `json:"edited_into,omitempty"`
		Audit      []AuditEntry `json:"audit,omitempty"`
	}{h.DeadLetter, h.MadeFrom, h.EditedInto, h.Audit})
}

// marshalUnescaped leaves payloads as they are, byte for byte.
func marshalUnescaped(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}

// FailureGroup is dead letters that failed in the same way: for the same reason, with
// an error of the same type, the same message once ids, numbers, times, addresses and
// quoted texts are taken out of it, and a panic in the same function. Codes behind words such
// as status, code, exit, errno and SQLSTATE stay, and quoted names of tables and files.
type FailureGroup struct {
	Fingerprint   string    `json:"fingerprint"` // for [Filter].Group
	Reason        string    `json:"reason"`
	ErrorType     string    `json:"error_type,omitempty"` // of the last attempt
	Message       string    `json:"message"`              // of the last attempt, with placeholders: <id>, <n>, <time>, <addr>, <text>
	Types         []string  `json:"types"`
	Subscriptions []string  `json:"subscriptions"`
	Count         int       `json:"count"`
	First         time.Time `json:"first"`  // when the first one died; UTC
	Last          time.Time `json:"last"`   // when the last one died; UTC
	Sample        Key       `json:"sample"` // the last one
}
