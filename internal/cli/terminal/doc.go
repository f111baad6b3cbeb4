// Package terminal formats output for people: tables that fit the terminal,
// colours, times and sizes in words, a line of progress, questions.
//
// A [Screen] describes where output goes, and everything here adapts to it.
// A terminal gets colours, and texts are cut to its width. A pipe or a file
// gets plain text, and all of it.
//
// Events and errors may contain any text, also escape sequences of terminals.
// [Clean] makes a text harmless. Tables clean their texts by themselves.
package terminal
