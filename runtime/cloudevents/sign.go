package cloudevents

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks, https://www.standardwebhooks.com.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// tolerance is how far the time of a signature may be from that of the receiver.
const tolerance = 5 * time.Minute

// secretPrefix is that of the texts of secrets.
const secretPrefix = "whsec_"

// parseSecrets reads the texts of secrets. An error does not show them.
func parseSecrets(texts []string) (secrets [][]byte, err error) {
	for i, text := range texts {
		encoded, ok := strings.CutPrefix(text, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(secret) < 24 || len(secret) > 64 {
			return nil, fmt.Errorf("secret %d is not %s and 24 to 64 bytes in base64", i+1, secretPrefix)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// sign sets the headers of a signature with each of the secrets.
func sign(header http.Header, id string, now time.Time, body []byte, secrets [][]byte) {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	header.Set(headerID, id)
	header.Set(headerTimestamp, timestamp)
	var signatures []string
	for _, secret := range secrets {
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(digest(secret, id, timestamp, body)))
	}
	header.Set(headerSignature, strings.Join(signatures, " "))
}

func digest(secret []byte, id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// maxSignatures is how many signatures of a request are looked at.
const maxSignatures = 10

// signatures are those of a request.
type signatures struct {
	id, timestamp string
	digests       [][]byte
}

// signaturesOf returns the signatures that the headers of a request have, or says why there are none.
func signaturesOf(header http.Header, now time.Time) (signatures, error) {
	for _, name := range []string{headerID, headerTimestamp, headerSignature} {
		if len(header.Values(name)) != 1 {
			return signatures{}, fmt.Errorf("there is not exactly one header %s", strings.ToLower(name))
		}
	}
	s := signatures{id: header.Get(headerID), timestamp: header.Get(headerTimestamp)}
	seconds, err := strconv.ParseInt(s.timestamp, 10, 64)
	if err != nil {
		return s, errors.New("webhook-timestamp is not a number of seconds")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return s, fmt.Errorf("webhook-timestamp is more than %v from the time of this server", tolerance)
	}
	all := strings.Fields(header.Get(headerSignature))
	for _, signature := range all[:min(len(all), maxSignatures)] {
		encoded, ok := strings.CutPrefix(signature, "v1,")
		digest, err := base64.StdEncoding.DecodeString(encoded)
		if ok && err == nil && len(digest) == sha256.Size { // the others are of another scheme
			s.digests = append(s.digests, digest)
		}
	}
	if len(s.digests) == 0 {
		return s, errors.New("webhook-signature has no signature of the scheme v1")
	}
	return s, nil
}

// match tells whether one of the signatures is that of the body by one of the secrets.
func (s signatures) match(body []byte, secrets [][]byte) bool {
	for _, secret := range secrets {
		want := digest(secret, s.id, s.timestamp, body)
		for _, given := range s.digests {
			if hmac.Equal(given, want) {
				return true
			}
		}
	}
	return false
}
