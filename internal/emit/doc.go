// Package emit brings a folder of generated code into the state the generator
// wants, and is the only part of the command that writes files.
//
// The generator returns [File] values. [Compare] holds them against a folder
// and says, file by file, what would have to happen ([Plan]); it never writes.
// [Plan.Apply] makes it happen:
//
//	plan, err := emit.Compare("events", files)
//	if !plan.UpToDate() {
//		err = plan.Apply()
//	}
//
// A file whose bytes are already right is not touched, so that its
// modification time and the build cache stay as they are. A generated file
// that nobody generates any more is removed. A file that a person wrote is
// neither changed nor removed: the first line tells the two apart ([Header]).
//
// [Create] is for the other kind of file: written once, and a person's from
// then on. [Replace] is for a file that the command line names.
//
// Each of them changes all of its files or none, also if it fails midway or a signal
// ends the process ([Abandon]); what a process leaves behind that is killed is
// removed, or completed ([Resume]), by the next one.
//
// Nothing here is safe to run twice at a time on one folder.
package emit
