// Package fingerprint groups failures of the same kind.
//
// Ten thousand dead letters rarely have ten thousand causes. [Of] hashes the reason
// of a dead letter, the Go type of its error, the error's message without the parts
// that differ between events ([Normalize]), and the function that panicked
// ([Frame]). It is a pure function: the same failure has the same fingerprint in
// every process, as long as Normalize does not change.
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
