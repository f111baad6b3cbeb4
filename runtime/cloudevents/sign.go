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

// verify returns why a request has no signature by one of the secrets, or nil.
func verify(header http.Header, body []byte, secrets [][]byte, now time.Time) error {
	for _, name := range []string{headerID, headerTimestamp, headerSignature} {
		if len(header.Values(name)) != 1 {
			return fmt.Errorf("there is not exactly one header %s", strings.ToLower(name))
		}
	}
	timestamp := header.Get(headerTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return errors.New("webhook-timestamp is not a number of seconds")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("webhook-timestamp is more than %v from the time of this server", tolerance)
	}
	signatures := strings.Fields(header.Get(headerSignature))
	for _, signature := range signatures[:min(len(signatures), maxSignatures)] {
		encoded, ok := strings.CutPrefix(signature, "v1,")
		given, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil {
			continue // of another scheme
		}
		for _, secret := range secrets {
			if hmac.Equal(given, digest(secret, header.Get(headerID), timestamp, body)) {
				return nil
			}
		}
	}
	return errors.New("webhook-signature is of none of the secrets")
}
