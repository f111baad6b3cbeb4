package buslog

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// auditMsg returns the message of a new entry in the audit. The caller holds mu.
func (l *Log) auditMsg(e engine.AuditEntry) *stream.Msg {
	e.At = time.Now().UTC()
	e.ID = e.At.UnixNano()
	for l.audit[e.ID].ID != 0 {
		e.ID++
	}
	l.audit[e.ID] = e // so that the next one has another id
	return l.auditEntryMsg(e)
}

// auditEntryMsg returns the message of an entry, in the place of an earlier one.
func (l *Log) auditEntryMsg(e engine.AuditEntry) *stream.Msg {
	data, _ := json.Marshal(e)
	return &stream.Msg{Subject: l.subject(auditToken, strconv.FormatInt(e.ID, 10)), Data: data, Only: true}
}
