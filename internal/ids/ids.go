// Package ids makes ids that nobody else has.
package ids

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"
)

// New returns an id of 16 letters and digits, such as a message has.
func New() string { return random(10) }

// Session returns an id for a session, which sorts by time.
func Session() string { return time.Now().Format("20060102-1504-") + random(5) }

// random returns that many random bytes in lower-case base32.
func random(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // which never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(b))
}
