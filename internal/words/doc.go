// Package words writes times, sizes and numbers for people, and makes the texts of
// strangers harmless. The command's output and the page for operators share it, so that
// both say the same about the same thing.
//
// A payload, a name and an error may contain any text. [Clean], [CleanLines] and [Escape]
// make visible what would do something to a terminal or to a line of text; they know
// nothing of HTML.
package words
