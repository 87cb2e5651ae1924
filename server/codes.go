package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// codeTime is how long a one-time code is valid: as long as it takes to point a
	// telephone at a screen, and to find the telephone.
	codeTime = 10 * time.Minute

	// maxCodes is the most codes of one user that are valid at the same time. The oldest
	// one ends when there is another.
	maxCodes = 10
)

// codes are the one-time codes with which browsers can sign in. They are in memory only: a
// server that starts knows none. Its methods are safe for concurrent use.
type codes struct {
	mu  sync.Mutex
	all []code // the oldest first
}

// A code signs one browser in as a user, once.
type code struct {
	sum  [sha256.Size]byte // of its text, so that comparing takes the same time for all values
	user *user
	ends time.Time
}

// issue returns a new code for the user, and when it ends. A user has a limited number of
// codes; the oldest one goes first.
func (c *codes) issue(u *user, now time.Time) (text string, ends time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(old code) bool { return !now.Before(old.ends) })
	mine := 0
	for i, old := range slices.Backward(c.all) {
		if old.user != u {
			continue
		}
		if mine++; mine >= maxCodes {
			c.all = slices.Delete(c.all, i, i+1)
		}
	}
	text, ends = rand.Text(), now.Add(codeTime)
	c.all = append(c.all, code{sha256.Sum256([]byte(text)), u, ends})
	return text, ends
}

// redeem returns the user of a code, which is invalid from then on, or nil. It takes the
// same time for every wrong code.
func (c *codes) redeem(text string, now time.Time) *user {
	sum := sha256.Sum256([]byte(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	found := -1
	for i := range c.all {
		if subtle.ConstantTimeCompare(sum[:], c.all[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	was := c.all[found]
	c.all = slices.Delete(c.all, found, found+1)
	if !now.Before(was.ends) {
		return nil
	}
	return was.user
}

// OneTimeLink returns a link by which one browser can sign in as the user with the token,
// once, within ten minutes; or "" if no user has the token. base is the address of the
// server as that browser knows it, such as https://example.org.
func (s *Server) OneTimeLink(base, token string) string {
	u := s.users.byToken(token)
	if u == nil {
		return ""
	}
	text, _ := s.codes.issue(u, time.Now())
	return base + "/login?code=" + text
}

// A linkRequest asks for a link that signs another browser in.
type linkRequest struct {
	Body struct {
		Address string `json:"address" maxLength:"300" doc:"The server's address as the other browser will know it: https://HOST or http://HOST:PORT."`
	}
}

// A SignInLink signs a browser in as the user who asked for it.
type SignInLink struct {
	URL  string    `json:"url"`
	Ends time.Time `json:"ends" doc:"When it is no longer valid. It can be used once."`
	QR   []string  `json:"qr" doc:"The link as a QR code: a string for each row, with 1 for a dark module and 0 for a light one."`
}

// signInLink returns a one-time link for another browser of the user, also as a QR code.
// The address must be one under which this server is known.
func (s *Server) signInLink(ctx context.Context, in *linkRequest) (*body[SignInLink], error) {
	base, err := s.address(in.Body.Address)
	if err != nil {
		return nil, &FieldError{"address", err}
	}
	text, ends := s.codes.issue(userOf(ctx), time.Now())
	link := base + "/login?" + url.Values{"code": {text}}.Encode()
	rows, err := qrRows(link)
	return &body[SignInLink]{SignInLink{URL: link, Ends: ends, QR: rows}}, err
}
