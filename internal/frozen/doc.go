// Package frozen keeps the JSON of events from changing without anybody noticing.
//
// The file [FileName], beside generated code and checked in with it, has lines of payloads as
// they are stored: of each event, each of its versions, each value of an enum and each
// variant of a union ([catalog.Event.WireForms]). [Compare] holds the file against a
// catalogue. What is new in the catalogue is added, what is written differently but can
// still be read is replaced and told of, and what could not be read any more is a finding,
// unless it was never checked in.
package frozen
