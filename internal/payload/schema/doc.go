// Package schema writes everything that a check of the payloads of one event needs as one line of JSON, and
// reads it. Generated code carries the line and the bus stores it in its file, so that busgen dlq edit
// needs no catalogue. The lines of wire records use the same forms of fields and types.
package schema
