package buslog

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// sentHeaders are those that a message of the inbox may have, of those that begin as the headers of events do. What
// cannot be heeded is refused, and not left out.
var sentHeaders = []string{typeHeader, versionHeader, metadataHeader}

const ownHeaders = "Busgen-"

// sentRoom is what the event of a message needs beside its payload and its headers.
const sentRoom = 1 << 10

// mostBody is how much is kept of the body of a message that is no payload.
const mostBody = 4 << 10

// sentOf returns the payload of the event for a message of the inbox, whose subject is the type: at most so many bytes.
// What is wrong with the message becomes part of it.
func sentOf(m *stream.Stored, most int) ([]byte, error) {
	s := engine.Sent{ID: first(m.Header, serverIDHeader), Type: m.Subject}
	wrong := func(format string, args ...any) {
		if s.Problem == "" {
			s.Problem = fmt.Sprintf(format, args...)
		}
	}
	if said, given := m.Header[typeHeader]; given {
		if s.Type = said[0]; token(s.Type) != m.Subject {
			wrong("the header %s is %q, and the subject says %q", typeHeader, s.Type, m.Subject)
		}
	}
	if said, given := m.Header[versionHeader]; given {
		var err error
		if s.Version, err = strconv.Atoi(said[0]); err != nil || s.Version < 1 {
			wrong("the header %s is %q, and not a version from 1 on", versionHeader, said[0])
		}
	}
	if said, given := m.Header[metadataHeader]; given {
		if err := json.Unmarshal([]byte(said[0]), &s.Metadata); err != nil {
			wrong("the header %s is not a JSON object of texts: %v", metadataHeader, err)
		}
	}
	if said, given := m.Header[contentHeader]; given {
		if of, _, err := mime.ParseMediaType(said[0]); err != nil || of != jsonContent {
			wrong("the header %s is %q: payloads are %s", contentHeader, said[0], jsonContent)
		}
	}
	for _, header := range slices.Sorted(maps.Keys(m.Header)) {
		all := m.Header[header]
		if strings.HasPrefix(header, ownHeaders) && !slices.Contains(sentHeaders, header) {
			wrong("nothing can be done with the header %s, of those that begin so there may be %s", header, strings.Join(sentHeaders, ", "))
		}
		if len(all) > 1 && (strings.HasPrefix(header, ownHeaders) || header == serverIDHeader || header == contentHeader) {
			wrong("the header %s is there %d times", header, len(all))
		}
	}
	if s.Payload = m.Data; !json.Valid(m.Data) || !utf8.Valid(m.Data) {
		s.Payload, s.Body = nil, cutText(strings.ToValidUTF8(string(m.Data), "\uFFFD"), mostBody)
		wrong("the body is not JSON in UTF-8")
	}
	data, err := s.Encode()
	if err == nil && len(data) <= most {
		return data, nil
	}
	wrong("the message has %d bytes, and its event would have %d, of at most %d", len(m.Data), len(data), most)
	s.Payload, s.Metadata, s.Body = nil, nil, cutText(strings.ToValidUTF8(string(m.Data), "\uFFFD"), mostBody)
	return s.Encode()
}
