// Package fingerprint tells whether two failures are of the same kind.
//
// Ten thousand dead letters are rarely ten thousand problems. [Of] reduces a
// failure to why it was given up, the Go type of its error, the error's message
// without what differs from one event to the next ([Normalize]), and the place
// that panicked ([Frame]), and makes a short name of them. It is a pure
// function: the same failure has the same fingerprint in every process and
// version that normalises alike.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Of returns the fingerprint of a failure: twelve hexadecimal digits. errorType
// and stack may be empty.
func Of(reason, errorType, message, stack string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{reason, errorType, Normalize(message), Frame(stack)}, "\x00")))
	return hex.EncodeToString(sum[:6])
}
