package dispatch

import (
	"regexp"
	"strconv"
)

// codeOf returns the code that an error, or one that it wraps, says of itself by a method, as errors of HTTP clients,
// databases and commands do; "" for none. Dead letters with different codes are not of one kind. It calls code of the
// program, so that a panic is no code.
func codeOf(err error) (code string) {
	defer func() {
		if recover() != nil {
			code = ""
		}
	}()
	each(err, func(err error) bool {
		switch e := err.(type) {
		case interface{ SQLState() string }:
			code = e.SQLState()
		case interface{ StatusCode() int }:
			code = strconv.Itoa(e.StatusCode())
		case interface{ HTTPStatusCode() int }:
			code = strconv.Itoa(e.HTTPStatusCode())
		case interface{ ExitCode() int }:
			code = strconv.Itoa(e.ExitCode())
		case interface{ ErrorCode() string }:
			code = e.ErrorCode()
		case interface{ Code() string }:
			code = e.Code()
		case interface{ Code() int }:
			code = strconv.Itoa(e.Code())
		}
		if !isCode.MatchString(code) || digits.MatchString(code) {
			code = ""
		}
		return code != ""
	})
	return code
}

var (
	isCode = regexp.MustCompile(`^-?[A-Za-z0-9_.]{1,40}$`)
	digits = regexp.MustCompile(`[0-9]{6}`) // which count something, or name an event
)
