// Package record reads, merges, compares and writes the record of the types of stored events, so that these
// types do not change unnoticed.
//
// The record is the file [FileName], beside generated code and checked in with it. It has a line for each fact
// that stored events rely on ([Fact]), sorted, so that diffs are readable and branches can be merged.
// Fields that are gone keep their lines, as reserved names.
//
// [Read] reads a record. [Record.Merge] merges the records of branches. [Compare] reads the catalogue that a
// record describes, has package breaking compare it with the present catalogue, and returns the findings and
// the new file. The caller chooses the record to compare with: package git finds the committed one.
package record
