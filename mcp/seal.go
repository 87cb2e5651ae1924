package mcp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// sealTime is how long a client may take to bring back what it keeps for us.
const sealTime = 24 * time.Hour

var errSeal = errors.New("it is not what this server gave out, or too old")

// sealed is v as a client keeps it, who can read and not change it.
func (s *Server) sealed(v *visit) string {
	v.Until = time.Now().Add(sealTime).UTC()
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and JSON always encode
	}
	return base64.RawURLEncoding.EncodeToString(data) + "." + base64.RawURLEncoding.EncodeToString(s.sign(data))
}

func (s *Server) sign(data []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write(data)
	return h.Sum(nil)
}

// opened is what was sealed.
func (s *Server) opened(state string) (*visit, error) {
	head, sum, ok := strings.Cut(state, ".")
	data, err := base64.RawURLEncoding.DecodeString(head)
	mac, err2 := base64.RawURLEncoding.DecodeString(sum)
	if !ok || err != nil || err2 != nil || !hmac.Equal(mac, s.sign(data)) {
		return nil, errSeal
	}
	var v visit
	if err := json.Unmarshal(data, &v); err != nil || time.Now().After(v.Until) {
		return nil, errSeal
	}
	return &v, nil
}
