package entra

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// application signs in as one, with its secret or with the token of the
// workload that it is.
func (s *source) application(ctx context.Context, tenant, id, secret, file string) (token, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "scope": {s.cloud.resource + "/.default"}}
	if secret != "" {
		form.Set("client_secret", secret)
	} else {
		data, err := os.ReadFile(file)
		if err != nil {
			return token{}, denied("AZURE_FEDERATED_TOKEN_FILE names a file that cannot be read: %w", err)
		}
		form.Set("client_assertion", strings.TrimSpace(string(data)))
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	}
	authority := strings.TrimRight(cmp.Or(os.Getenv("AZURE_AUTHORITY_HOST"), s.cloud.authority), "/")
	if u, err := url.Parse(authority); err != nil || u.Host == "" || u.Scheme != "https" && !local(u.Hostname()) {
		return token{}, denied("AZURE_AUTHORITY_HOST is %q: it should look like https://login.microsoftonline.com", authority)
	}
	at := authority + "/" + url.PathEscape(tenant) + "/oauth2/v2.0/token"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return token{}, denied("AZURE_TENANT_ID makes no address: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.send(s.client, r, secret)
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// service asks for the identity of a service that runs in Azure.
func (s *source) service(ctx context.Context, at, header, id string) (token, error) {
	return s.identity(ctx, s.client, at, "2019-08-01", id, "IDENTITY_ENDPOINT", http.Header{"X-Identity-Header": {header}})
}

// machine asks for the identity of the virtual machine that this runs on. One
// that is none has nobody at that address.
func (s *source) machine(ctx context.Context, id string) (token, error) {
	base := cmp.Or(os.Getenv("AZURE_POD_IDENTITY_AUTHORITY_HOST"), "http://169.254.169.254")
	near := &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, ResponseHeaderTimeout: 10 * time.Second} // through no proxy
	defer near.CloseIdleConnections()
	return s.identity(ctx, wire.Client(&http.Client{Transport: near}), strings.TrimRight(base, "/")+"/metadata/identity/oauth2/token", "2018-02-01", id,
		"AZURE_POD_IDENTITY_AUTHORITY_HOST", http.Header{"Metadata": {"true"}})
}

func (s *source) identity(ctx context.Context, client *http.Client, at, version, id, from string, header http.Header) (token, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return token{}, denied("%s is %q, which is no address", from, at)
	}
	q := u.Query()
	q.Set("api-version", version)
	q.Set("resource", s.cloud.resource)
	if id != "" {
		q.Set("client_id", id)
	}
	u.RawQuery = q.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return token{}, denied("%s is %q, which is no address: %w", from, at, err)
	}
	r.Header = header
	return s.send(client, r, header.Get("X-Identity-Header"))
}

// person takes the token of who signed in with Azure's own tool.
func (s *source) person(ctx context.Context, tenant string) (token, error) {
	args := []string{"account", "get-access-token", "--output", "json", "--resource", s.cloud.resource}
	if tenant != "" {
		args = append(args, "--tenant", tenant)
	}
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, "az", args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return token{}, errors.New("az is not installed")
		}
		return token{}, fmt.Errorf("az: %s", cmp.Or(wire.OneLine(said.String(), 200), err.Error()))
	}
	return parse(out.Bytes())
}

// send returns the token that r is answered with.
func (s *source) send(client *http.Client, r *http.Request, secret string) (token, error) {
	res, err := client.Do(r)
	if err != nil {
		var op *url.Error
		if errors.As(err, &op) { // it repeats the address
			err = op.Err
		}
		var dns *net.DNSError // where nobody ever was, nobody will be in a moment
		nobody := errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) && !dns.IsTimeout
		return token{}, &llm.Error{Kind: llm.Network, Permanent: nobody && !s.there,
			Err: fmt.Errorf("no token can be had at %s (is the network up, and AZURE_AUTHORITY_HOST right?): %w", r.URL.Host, err)}
	}
	s.there = true
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	switch {
	case err != nil:
		return token{}, &llm.Error{Kind: llm.Network, Err: fmt.Errorf("the answer of %s broke off: %w", r.URL.Host, err)}
	case res.StatusCode != http.StatusOK:
		return token{}, refused(res, body, secret)
	}
	t, err := parse(body)
	if err != nil {
		return t, denied("%s gives no token: %w", r.URL.Host, err)
	}
	return t, nil
}

// refused is the error of a request for a token that was not answered with
// one. It names the variable that is wrong, where Entra's number tells it.
func refused(res *http.Response, body []byte, secret string) error {
	var said struct {
		Error       string
		Description string `json:"error_description"`
	}
	text := wire.OneLine(string(body), 200)
	if json.Unmarshal(body, &said) == nil && said.Error != "" {
		text = said.Error + ": " + wire.OneLine(said.Description, 300)
	}
	if len(secret) >= 4 {
		text = strings.ReplaceAll(text, secret, "***")
	}
	e := &llm.Error{Kind: llm.Auth, Status: res.StatusCode, Permanent: true}
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500 {
		e.Kind, e.Permanent = llm.Network, false
	}
	e.Err = fmt.Errorf("no token of Microsoft Entra, %s: %s", look(said.Description), text)
	return e
}

// look says where to look, by the number of Entra's that a text has.
func look(text string) string {
	switch regexp.MustCompile(`AADSTS\d+`).FindString(text) {
	case "AADSTS90002", "AADSTS900023", "AADSTS900021":
		return "look at AZURE_TENANT_ID"
	case "AADSTS700016", "AADSTS900144":
		return "look at AZURE_CLIENT_ID and AZURE_TENANT_ID"
	case "AADSTS7000215", "AADSTS7000222", "AADSTS7000216":
		return "look at AZURE_CLIENT_SECRET"
	case "AADSTS700024", "AADSTS700211", "AADSTS70021", "AADSTS700213", "AADSTS50013":
		return "look at AZURE_FEDERATED_TOKEN_FILE and the federated credential of the application"
	}
	return "look at AZURE_TENANT_ID, AZURE_CLIENT_ID and what goes with them"
}

// parse reads a token as Entra, a machine or az writes it down: numbers may
// be text.
func parse(data []byte) (token, error) {
	var said struct {
		Token   string      `json:"access_token"`
		AZ      string      `json:"accessToken"`
		In      json.Number `json:"expires_in"`
		On      json.Number `json:"expires_on"`
		OnLocal string      `json:"expiresOn"`
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return token{}, fmt.Errorf("it is not JSON: %w", err)
	}
	t := token{text: cmp.Or(said.Token, said.AZ), until: time.Now().Add(time.Hour)}
	if in, err := strconv.ParseInt(said.In.String(), 10, 64); err == nil && in > 0 {
		t.until = time.Now().Add(time.Duration(in) * time.Second)
	} else if on, err := strconv.ParseInt(said.On.String(), 10, 64); err == nil && on > 0 {
		t.until = time.Unix(on, 0)
	} else if on, err := time.ParseInLocation("2006-01-02 15:04:05.999999", said.OnLocal, time.Local); err == nil {
		t.until = on
	}
	if t.text == "" {
		return t, errors.New("there is none in it")
	}
	return t, nil
}
