package locks

import (
	"fmt"
	"os"
	"strings"
)

// User is a process that uses a file.
type User struct {
	PID     int
	Program string // as the system calls it; empty if that cannot be known
}

// String names the process.
func (u User) String() string {
	switch {
	case u.PID == os.Getpid():
		return "this process"
	case u.Program == "":
		return fmt.Sprint("process ", u.PID)
	}
	return fmt.Sprintf("process %d (%s)", u.PID, u.Program)
}

// Names lists processes, as far as they are known.
func Names(users []User) string {
	var names []string
	for _, u := range users {
		names = append(names, u.String())
	}
	return strings.Join(names, ", ")
}
