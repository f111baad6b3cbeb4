// Package docpage makes a page of a catalogue, for people who want to know which
// events there are and what becomes of them.
//
// [Render] returns one HTML file that needs nothing else: style, script and
// drawings are in it, and it loads nothing from anywhere. It is the same for the
// same catalogue, so that it can be checked in.
//
// page.go turns the catalogue into what the template shows; timeline.go and flow.go
// compute the drawings, and page.html draws them as SVG. All text goes through
// html/template, which escapes it.
package docpage
