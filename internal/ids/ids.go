// Package ids makes unique ids.
package ids

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"
)

// New returns a random id of 16 lower-case letters and digits, which has 80 bits.
func New() string { return random(10) }

// Session returns an id for a session: the local time, so that ids sort by it,
// and 40 random bits.
func Session() string { return time.Now().Format("20060102-1504-") + random(5) }

// random returns that many random bytes in lower-case base32.
func random(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // it never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(b))
}
