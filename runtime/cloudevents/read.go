package cloudevents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
)

// The media types of the JSON format.
const (
	structuredType = "application/cloudevents+json"
	batchedType    = "application/cloudevents-batch+json"
)

// read returns the events of a request, which it checks but for their payloads.
func (h *receiver) read(w http.ResponseWriter, r *http.Request) ([]Event, error) {
	media, err := h.mode(r)
	if err != nil {
		return nil, err
	}
	unsigned := func(err error) error {
		return &Refusal{Status: http.StatusUnauthorized, Kind: KindSignature, Index: -1, Err: err}
	}
	var signed signatures
	if h.secrets != nil { // what has no signature is not read
		if signed, err = signaturesOf(r.Header, time.Now()); err != nil {
			return nil, unsigned(err)
		}
	}
	body, err := h.body(w, r)
	if err != nil {
		return nil, err
	}
	if h.secrets != nil && !signed.match(body, h.secrets) {
		return nil, unsigned(errors.New("webhook-signature is of none of the secrets"))
	}
	switch media {
	case structuredType:
		events := make([]Event, 1)
		return events, events[0].UnmarshalJSON(body)
	case batchedType:
		return h.batch(body)
	}
	attributes, err := attributesOf(r.Header)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		body = nil
	}
	events := make([]Event, 1)
	return events, events[0].fill(attributes, body)
}

// mode returns the media type of a structured or batched request, and "" in binary mode.
func (h *receiver) mode(r *http.Request) (string, error) {
	if encoding := strings.Join(r.Header.Values("Content-Encoding"), ", "); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", &Refusal{Status: http.StatusUnsupportedMediaType, Kind: KindEncoding, Index: -1,
			Err: fmt.Errorf("the Content-Encoding is %.40q: send the body as it is", encoding)}
	}
	if n := len(r.Header.Values("Content-Type")); n > 1 {
		return "", &AttributeError{Attribute: "datacontenttype", Problem: fmt.Sprintf("there are %d headers Content-Type", n)}
	}
	kind := r.Header.Get("Content-Type")
	if !strings.HasPrefix(strings.ToLower(kind), "application/cloudevents") {
		if h.secrets != nil {
			return "", &Refusal{Status: http.StatusUnauthorized, Kind: KindSignature, Index: -1,
				Err: errors.New("the signature does not cover the attributes in binary mode: send " + structuredType)}
		}
		return "", nil
	}
	media, params, err := mime.ParseMediaType(kind)
	charset := params["charset"]
	if err != nil || media != structuredType && media != batchedType || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", &Refusal{Status: http.StatusUnsupportedMediaType, Kind: KindMediaType, Index: -1,
			Err: fmt.Errorf("the Content-Type is %.100q: send %s or %s, in UTF-8", kind, structuredType, batchedType)}
	}
	return media, nil
}

// body reads the body within the limits of size and time.
func (h *receiver) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := &Refusal{Status: http.StatusRequestEntityTooLarge, Kind: KindTooLarge, Index: -1,
		Err: fmt.Errorf("the body has more than %d bytes: send fewer or smaller events", h.maxBody)}
	if r.ContentLength > h.maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.maxBody))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Refusal{Status: http.StatusRequestTimeout, Kind: KindSlow, Index: -1, Err: fmt.Errorf("the body was not there within %v", h.within)}
	case err != nil:
		return nil, &DataError{Problem: "the body cannot be read: " + err.Error()}
	}
	http.NewResponseController(w).SetReadDeadline(time.Time{}) // it would end the request
	return body, nil
}

// batch reads the events of a batch.
func (h *receiver) batch(body []byte) ([]Event, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(body, &items); err != nil || items == nil {
		return nil, &DataError{Problem: "the body is not a JSON list: " + reason(err, "it is null")}
	}
	if len(items) > h.maxBatch {
		return nil, &Refusal{Status: http.StatusRequestEntityTooLarge, Kind: KindTooLarge, Index: -1,
			Err: fmt.Errorf("the batch has %d events, and at most %d are taken", len(items), h.maxBatch)}
	}
	events := make([]Event, len(items))
	for i, item := range items {
		if err := events[i].UnmarshalJSON(item); err != nil {
			return nil, at(i, err)
		}
	}
	return events, nil
}
