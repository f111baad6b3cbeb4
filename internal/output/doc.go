// Package output writes files: it brings a folder of generated code up to date, and changes catalogues.
//
// The generator returns [File] values. [Compare] compares them with a folder and returns a [Plan], which
// says for each file what to do; it never writes. [Plan.Apply] carries the plan out:
//
//	plan, err := output.Compare("events", files)
//	if !plan.UpToDate() {
//		err = plan.Apply()
//	}
//
// Apply does not touch a file that is right already, so that its modification time and the build cache
// stay as they are. It removes generated files that are no longer generated. It never changes or removes
// files that a person wrote: the first line tells the two apart ([Header]).
//
// [Create] writes a file once, for a person to edit from then on. [Replace] writes a file that the
// command line names.
//
// Each of them changes all of its files or none, also if it fails midway or a signal ends the process
// ([Abandon]). If a process is killed with -9 between two renames, some files have changed and others have not; the next
// one removes its temporary files.
//
// Two processes must not write to one folder at the same time.
package output
