package busfile

import "strings"

// ownFrames shortens the stack of a panic to the part that is the program's: what
// lies between the panic and the runtime that has called the handler. Of a stack
// without such a part everything is shown.
func ownFrames(stack string) string {
	lines := strings.Split(strings.TrimRight(stack, "\n"), "\n")
	from := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			from = i + 2 // the line of the place belongs to it
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

// busgenRuntime begins the functions of the runtime package and of those below it.
const busgenRuntime = "github.com/busgen/busgen/runtime"
