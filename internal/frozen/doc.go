// Package frozen keeps the types of stored events from changing without anybody noticing.
//
// The file [FileName], beside generated code and checked in with it, is a record: a line for each
// fact that stored events rely on ([catalog.Fact]), sorted, so that a diff says what has changed and
// branches can be merged. Fields that are gone keep their lines, as reserved names.
//
// [Read] reads a record, and [Record.Merge] the records of branches that are being merged. [Compare]
// makes a catalogue of a record again, has package breaking compare it with the catalogue that there
// is now, and returns the findings and the file as it should be. Which record counts is for the
// caller to say: what git has, not what lies in the folder.
package frozen
