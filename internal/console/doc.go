// Package console says things to people: tables that fit their terminal, times
// and sizes in words, a line of progress, a question before something is
// destroyed.
//
// A [Screen] is what is known about the place where output goes. Everything
// here adapts to it: colours and cut texts are for terminals; a pipe or a file
// gets plain text with nothing left out.
//
// Texts that come from events and errors may hold anything, escape sequences of
// terminals included. [Clean] makes them harmless, and tables do it by
// themselves.
package console
