package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/openmanus-go/openmanus/config"
)

// A StatusError is the HTTP status of an answer that is no success.
type StatusError int

// Error implements error.
func (e StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", int(e), http.StatusText(int(e))))
}

// errOtherList is the error of an endpoint that answers with something other than
// a list of models.
var errOtherList = errors.New("it answers, but not with a list of models")

// An ElsewhereError says that there is no list of models at an address, and that there is one
// at another address of the host: the path of the address is wrong.
type ElsewhereError struct {
	At  string // the other address
	Err error
}

// Error implements error.
func (e *ElsewhereError) Error() string { return fmt.Sprintf("%v, but %s lists models", e.Err, e.At) }

// Unwrap returns the error at the address that was asked.
func (e *ElsewhereError) Unwrap() error { return e.Err }

// SaysNothing reports whether err is that of an endpoint that answers and has no list of models, as
// far as is known.
func SaysNothing(err error) bool {
	var status StatusError
	var there *ElsewhereError
	return errors.As(err, &status) && (status == 404 || status == 405) && !errors.As(err, &there)
}

// elsewhere returns err, with which an address was asked for its models, or an ElsewhereError if
// they are where most servers have them.
func elsewhere(ctx context.Context, u *url.URL, key string, err error) error {
	if !errors.Is(err, errOtherList) && !SaysNothing(err) {
		return err
	}
	top := *u
	top.Path, top.RawPath = "/v1", ""
	others := []*url.URL{&top}
	if !strings.HasSuffix(u.Path, "/v1") {
		others = []*url.URL{u.JoinPath("v1"), &top}
	}
	for _, at := range others {
		var list struct{ Data []listedModel }
		if at.Path != u.Path && ask(ctx, at.JoinPath("models"), key, &list) == nil && len(list.Data) > 0 {
			return &ElsewhereError{At: at.Redacted(), Err: err}
		}
	}
	return err
}

// Models returns the names of the models at the OpenAI-compatible endpoint
// baseURL. It sends the key if that is not "", and therefore follows no redirect.
// No error contains the key or a password. It takes as long as ctx allows.
func Models(ctx context.Context, baseURL, key string) ([]string, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, errors.New("not an address")
	}
	var list struct{ Data []listedModel }
	if err := ask(ctx, u.JoinPath("models"), key, &list); err != nil {
		return nil, elsewhere(ctx, u, key, err)
	}
	names := []string{}
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// answer returns the findings about an endpoint that answered with names or err,
// for the models that are configured there. The state of an endpoint that cannot
// be used is bad.
func answer(models []config.Model, names []string, err error, bad State) []Finding {
	m := models[0]
	name := "endpoint " + m.Address()
	var status StatusError
	var there *ElsewhereError
	switch {
	case err == nil:
		return listed(name, models, names)
	case errors.As(err, &there):
		return one(name, bad, err.Error(), fmt.Sprintf("set the address to %s (%s)", there.At, m.BaseAt))
	case errors.As(err, &status) && (status == 401 || status == 403):
		if m.Key == "" {
			return one(name, bad, err.Error()+": it wants a key, and none is sent", strings.Join(append([]string{"set one: openmanus config show says what is set"}, m.Notes...), "; "))
		}
		return one(name, bad, fmt.Sprintf("%v: it refuses the key from %s", err, m.KeyAt), "check that this is a key for "+m.Address()+", and still valid")
	case errors.As(err, &status) && (status == 404 || status == 405):
		return one(name, Warn, err.Error()+": it answers, but has no list of models there", "if requests fail as well, check the path: most addresses end in /v1 ("+m.BaseAt.String()+")")
	case errors.As(err, &status) && status/100 == 3:
		return one(name, Warn, err.Error()+": it redirects, and no key is sent to another address", "configure the address that it redirects to ("+m.BaseAt.String()+")")
	case errors.As(err, &status):
		return one(name, Warn, err.Error()+": the server reports a problem of its own", "try again later")
	case errors.Is(err, errOtherList):
		return one(name, Warn, err.Error(), "check the address ("+m.BaseAt.String()+")")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return one(name, bad, "no answer in time", unreached(m, err))
	}
	return one(name, bad, err.Error(), unreached(m, err))
}

// listed returns the findings about models that an endpoint lists, or does not.
func listed(name string, models []config.Model, names []string) []Finding {
	list := one(name, OK, fmt.Sprintf("it answers; models listed: %d", len(names)), "")
	for _, m := range models {
		if len(names) == 0 || slices.Contains(names, m.Name) || slices.Contains(names, m.Name+":latest") { // as Ollama has it
			continue
		}
		remedy := "it has " + some(names)
		if pull := m.Provider.PullHint; pull != "" {
			remedy = pull + " " + m.Name + "; " + remedy
		}
		list = append(list, Finding{name, Warn, "it does not list " + m.Name, remedy})
	}
	return list
}

// some returns the first names.
func some(names []string) string {
	const most = 8
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

// unreached says what to do about an endpoint that does not answer.
func unreached(m config.Model, err error) string {
	said := " (" + m.BaseAt.String() + ")"
	if m.BaseAt.From == "" {
		said = ""
	}
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	switch {
	case m.Provider.StartHint != "" && errors.Is(err, syscall.ECONNREFUSED):
		return "start it: " + m.Provider.StartHint
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start the server, or check the address" + said
	case errors.As(err, &dns):
		return "there is no such host, or no network: check the address" + said
	case errors.As(err, &record):
		return "it does not speak TLS: write http instead of https, or check the port" + said
	case errors.As(err, &unknown):
		return "its certificate is signed by an unknown authority: add the authority to the system's certificates, or set SSL_CERT_FILE"
	case errors.Is(err, context.DeadlineExceeded):
		return "check the network, a proxy (HTTPS_PROXY), and the address" + said
	}
	return "check the address" + said + ", the network, and a proxy (HTTPS_PROXY)"
}
