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

// sealTime is how long a client may keep a sealed state.
const sealTime = 24 * time.Hour

var errSeal = errors.New("it does not come from this server, or it is too old")

// sealed returns v in a form that a client keeps for us. The client can read it
// and cannot change it.
func (s *Server) sealed(v *visit) string {
	v.Until = time.Now().Add(sealTime).UTC()
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and JSON always encode
	}
	return base64.RawURLEncoding.EncodeToString(data) + "." +
		base64.RawURLEncoding.EncodeToString(s.sign(data))
}

// sign returns the code that authenticates data. The key lasts as long as the
// process.
func (s *Server) sign(data []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write(data)
	return h.Sum(nil)
}

// opened returns the visit that was sealed.
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
