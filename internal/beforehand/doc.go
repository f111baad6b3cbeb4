// Package beforehand has what an operator is told before something changes: a name that the file does not
// have is refused, with the one that was probably meant, and what would change is counted. The command
// and the page for operators use it, so that they refuse the same and ask the same.
package beforehand
