package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/openmanus-go/openmanus/config"
)

// A StatusError is an answer of an endpoint that is not one of success.
type StatusError int

func (e StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", int(e), http.StatusText(int(e))))
}

// errOtherList is the error of an endpoint that answers, and not with a list
// of models.
var errOtherList = errors.New("it answers, but not with a list of models")

// Models asks the OpenAI-compatible endpoint at baseURL for the names of its
// models, with the key if that is not "". It follows no redirect, since a key
// goes along, and no error of it contains the key or a password. It takes as
// long as ctx lets it.
func Models(ctx context.Context, baseURL, key string) ([]string, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, errors.New("not an address")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("models").String(), nil)
	if err != nil {
		return nil, errors.New("not an address")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) { // whose text repeats the address
			err = ue.Err
		}
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, StatusError(res.StatusCode)
	}
	var body struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 8<<20)).Decode(&body); err != nil {
		return nil, errOtherList
	}
	names := []string{}
	for _, d := range body.Data {
		names = append(names, d.ID)
	}
	return names, nil
}

// answer makes findings of what an endpoint says, for the models that are
// there; bad is the state if they cannot be asked.
func answer(models []config.Model, names []string, err error, bad State) []Finding {
	m := models[0]
	name := "endpoint " + m.Address()
	var status StatusError
	switch {
	case err == nil:
		return listed(name, models, names)
	case errors.As(err, &status) && (status == 401 || status == 403):
		if m.Key == "" {
			return one(name, bad, err.Error()+": it wants a key, and none is sent", strings.Join(append([]string{"set one: openmanus config show says what is set"}, m.Notes...), "; "))
		}
		return one(name, bad, fmt.Sprintf("%v: it refuses the key from %s", err, m.KeyAt), "check that this is a key for "+m.Address()+", and still valid")
	case errors.As(err, &status) && (status == 404 || status == 405):
		return one(name, Warn, err.Error()+": it answers, but has no list of models there", "if requests fail as well, check the path: most addresses end in /v1 ("+m.BaseAt.String()+")")
	case errors.As(err, &status) && status/100 == 3:
		return one(name, Warn, err.Error()+": it sends elsewhere, where no key is taken", "name the address where it is ("+m.BaseAt.String()+")")
	case errors.As(err, &status):
		return one(name, Warn, err.Error()+": it is there, and in trouble", "try again later")
	case errors.Is(err, errOtherList):
		return one(name, Warn, err.Error(), "check the address ("+m.BaseAt.String()+")")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return one(name, bad, "no answer in time", unreached(m, err))
	}
	return one(name, bad, err.Error(), unreached(m, err))
}

// listed looks for the models in the endpoint's list.
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

func some(names []string) string {
	const most = 8
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

// unreached says what to do about an endpoint that does not answer.
func unreached(m config.Model, err error) string {
	said := ", which " + m.BaseAt.String() + " says"
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
		return "its certificate is signed by nobody who is known here: add the authority to the system's, or set SSL_CERT_FILE"
	case errors.Is(err, context.DeadlineExceeded):
		return "check the network, a proxy (HTTPS_PROXY), and the address" + said
	}
	return "check the address" + said + ", the network, and a proxy (HTTPS_PROXY)"
}
