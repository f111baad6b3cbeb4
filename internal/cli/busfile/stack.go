package busfile

import "strings"

// ownFrames shortens the stack of a panic to the frames of the program: those
// between the panic and the runtime that called the handler. A stack without such
// frames stays whole.
func ownFrames(stack string) string {
	lines := strings.Split(strings.TrimRight(stack, "\n"), "\n")
	from := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			from = i + 2 // a frame has two lines
		}
	}
	to := from
	for to < len(lines) && !strings.HasPrefix(lines[to], busgenRuntime) {
		to++
	}
	if from == 0 || from == to || to > len(lines) {
		return stack
	}
	return strings.Join(lines[from:to], "\n")
}

// busgenRuntime begins the names of all functions of the runtime.
const busgenRuntime = "github.com/busgen/busgen/runtime"
