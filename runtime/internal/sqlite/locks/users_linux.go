package locks

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Users returns the processes that have the file at path open, as far as this user may see that.
func Users(path string) []User { return users(path, func(string) bool { return true }) }

// Readers returns the processes that read a state of the log with this index in a transaction.
func Readers(index string) []User { return users(index, locksReadMark) }

func users(path string, which func(fdinfo string) bool) (found []User) {
	var want syscall.Stat_t
	if syscall.Stat(path, &want) != nil {
		return nil
	}
	folders, _ := filepath.Glob("/proc/[0-9]*/fd")
	for _, folder := range folders {
		open, _ := os.ReadDir(folder) // of other users it cannot be read
		for _, fd := range open {
			var is syscall.Stat_t
			if syscall.Stat(filepath.Join(folder, fd.Name()), &is) != nil || is.Ino != want.Ino || is.Dev != want.Dev {
				continue
			}
			process := filepath.Dir(folder)
			if !which(filepath.Join(process, "fdinfo", fd.Name())) {
				continue
			}
			pid, _ := strconv.Atoi(filepath.Base(process))
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			found = append(found, User{PID: pid, Program: strings.TrimSpace(string(name))})
			break
		}
	}
	return found
}

// The bytes of the index that readers lock, each for the part of the log that they need.
const firstReadMark, lastReadMark = 123, 127

// locksReadMark tells whether an open file holds the lock of a reader. The system lists its locks as
// "lock: 1: OFDLCK ADVISORY READ -1 00:2e:4711 123 123".
func locksReadMark(fdinfo string) bool {
	file, err := os.Open(fdinfo)
	if err != nil {
		return false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 3 || words[0] != "lock:" {
			continue
		}
		first, err := strconv.ParseInt(words[len(words)-2], 10, 64)
		if err == nil && first >= firstReadMark && first <= lastReadMark {
			return true
		}
	}
	return false
}
