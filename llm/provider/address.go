package provider

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// A Query is what an address is made from.
type Query struct {
	Model string // NAME/MODEL, for errors

	// A Setting is the value in the configuration; the zero Setting: there is
	// none. Base may be any text: whether it is an address is checked
	// afterwards.
	Base, Region, Project, Version Setting

	// Env returns the first of the environment variables that is set.
	Env func(names ...string) Setting
	// ReadFile reads a file, as [os.ReadFile] does.
	ReadFile func(name string) ([]byte, error)
}

// Or returns s, or, if the configuration does not set it, the first of the
// environment variables that is set.
func (q Query) Or(s Setting, names ...string) Setting {
	if s.Text == "" {
		return q.Env(names...)
	}
	return s
}

// An Address is where a model is.
type Address struct {
	Base    Setting // an address, and the setting that names it; the zero Source: the provider's own
	Region  string  // of the cloud, where the address does not name it
	Version string  // of the interface; "": the newest
}

// A Setting is a value of the configuration, and where it came from.
type Setting struct {
	Text string
	At   Source
}

// From is the kind of a [Source].
type From string

// Where values come from.
const (
	Default     From = "default"
	File        From = "file"
	Environment From = "env"
	Flag        From = "flag"
	Record      From = "record" // the journal of a session
	Catalogued  From = "catalogue"
	Endpoint    From = "endpoint" // told by the endpoint itself
)

// A Source is where a value came from. The zero Source is the default.
type Source struct {
	From From
	Name string // a file's path, a variable's name, a flag with its dashes, a pattern of the catalogue, or what the endpoint told it by
	Line int    // in the file, from 1
}

// String returns s as in "FILE:LINE", "env NAME", "--flag" or "default".
func (s Source) String() string {
	switch s.From {
	case File:
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	case Environment:
		return "env " + s.Name
	case Flag:
		return s.Name
	case Record:
		return "the session"
	case Catalogued:
		return "catalogue " + s.Name
	case Endpoint:
		return "endpoint: " + s.Name
	}
	return string(Default)
}

// CheckWord reports a setting that is to be one word of base, such as a region,
// and is none.
func CheckWord(base string, word Setting) error {
	if CheckURL(base) != nil || strings.ContainsAny(word.Text, "/ .@?#") {
		return fmt.Errorf("%s: found %s, which is none", word.At, Quote(word.Text))
	}
	return nil
}

// CheckURL returns an error if s is not the address of an endpoint: http or https, a host,
// perhaps a port and a path, and neither a query nor a fragment. It resolves no name.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("not a URL: allowed: http://HOST[:PORT]/PATH or https://…")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return errors.New("allowed: http://HOST[:PORT]/PATH or https://…")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("the address of an endpoint has no ? and no #")
	}
	return nil
}

// call is the end of an address that documentation gives for single requests.
var call = regexp.MustCompile(`(/chat/completions|/completions|/responses|/messages|/embeddings|/api/chat|/api/generate|` +
	`/models/[^/]+:(stream)?[gG]enerateContent)/*$`)

// WithoutCall returns base without the path of a single request, such as
// /chat/completions, which requests add themselves; cut is what was taken away.
func WithoutCall(base string) (without, cut string) {
	at := call.FindStringIndex(base)
	if at == nil || CheckURL(base[:at[0]]) != nil {
		return base, ""
	}
	return base[:at[0]], base[at[0]:]
}

// Host returns the host of base in lower case, without the port, or "" if base is no
// address.
func Host(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// SameHost reports whether two addresses have the same scheme, host and port. An implied
// port equals the written one. Addresses that cannot be parsed are never the same.
func SameHost(a, b string) bool {
	u, err := url.Parse(a)
	v, e := url.Parse(b)
	return err == nil && e == nil && u.Scheme == v.Scheme && strings.EqualFold(u.Hostname(), v.Hostname()) && Port(u) == Port(v)
}

// Port returns the port of u. If it is implied, it is that of the scheme: 443 for https,
// and 80 for anything else.
func Port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Loopback reports whether base names this machine: localhost, a name below it, or a
// loopback address. It resolves no name.
func Loopback(base string) bool {
	h := Host(base)
	ip := net.ParseIP(h)
	return h == "localhost" || strings.HasSuffix(h, ".localhost") || ip != nil && ip.IsLoopback()
}

// Mask stands for a secret.
const Mask = "********"

// WithoutPassword returns the address s with [Mask] for its user and password.
// It returns [Mask] alone for a text that is no address and may contain one.
func WithoutPassword(s string) string {
	if !strings.Contains(s, "@") || !strings.Contains(s, "://") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return Mask
	}
	if u.User != nil {
		u.User = url.User(Mask)
		return strings.Replace(u.String(), url.PathEscape(Mask), Mask, 1)
	}
	return s
}

// Quote returns text in quotes for an error: on one line, and at most 60
// characters of it.
func Quote(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
