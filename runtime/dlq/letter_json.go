package dlq

import (
	"bytes"
	"encoding/json"

	"github.com/google/uuid"
)

// plainLetter is a Letter that encoding/json treats as any struct.
type plainLetter Letter

// encodedLetter is the JSON of a letter. A payload that is not JSON, which
// only other programs can have stored, is kept as it is in base64.
type encodedLetter struct {
	plainLetter
	Raw []byte `json:"raw_payload,omitempty"`
}

// MarshalJSON returns what a line of [Inspector.Export] has. A payload that is
// not JSON is in the field raw_payload, in base64.
func (l Letter) MarshalJSON() ([]byte, error) {
	encoded := encodedLetter{plainLetter: plainLetter(l)}
	if !json.Valid(l.Payload) {
		encoded.Payload, encoded.Raw = nil, l.Payload
	}
	if encoded.Attempts == nil {
		encoded.Attempts = []Attempt{}
	}
	return encode(encoded)
}

// MarshalJSON returns an object with the fields letter, made_from, edited_into
// and audit.
func (d Detail) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Letter     Letter       `json:"letter"`
		MadeFrom   []uuid.UUID  `json:"made_from,omitempty"`
		EditedInto []Key        `json:"edited_into,omitempty"`
		Audit      []AuditEntry `json:"audit,omitempty"`
	}{d.Letter, d.MadeFrom, d.EditedInto, d.Audit})
}

// encode leaves payloads as they are, byte for byte.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}

// decodeLetter reads what MarshalJSON of a letter returns. A field that letters
// do not have is an error.
func decodeLetter(line []byte) (Letter, error) {
	var encoded encodedLetter
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&encoded); err != nil {
		return Letter{}, err
	}
	if len(encoded.Raw) > 0 {
		encoded.Payload = encoded.Raw
	}
	return Letter(encoded.plainLetter), nil
}
