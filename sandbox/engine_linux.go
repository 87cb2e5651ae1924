package sandbox

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// engineSocket is where the engine listens by default.
const engineSocket = "/var/run/docker.sock"

// An engine is a client of a container engine, which speaks Docker's HTTP API on
// a Unix socket (https://docs.docker.com/reference/api/engine/). Only the few
// requests that a sandbox needs are here. Several goroutines may use it.
type engine struct {
	socket string
	client *http.Client
	base   string // what URLs begin with: the version of the API that the engine speaks
}

// newEngine connects to the engine at address, which is the path of a socket,
// with unix:// before it or without, or "" for engineSocket. An engine on
// another machine is refused: it could not see the workspace.
func newEngine(ctx context.Context, address string) (*engine, error) {
	address = cmp.Or(address, engineSocket)
	socket := strings.TrimPrefix(address, "unix://")
	if !strings.HasPrefix(socket, "/") {
		return nil, fmt.Errorf("%w: the container engine at %s is not on a socket of this machine, so it cannot "+
			"see the workspace: unset DOCKER_HOST, or set it to a socket "+
			"(unix:///var/run/docker.sock)", ErrNone, address)
	}
	e := &engine{socket: socket}
	e.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.dial(ctx) },
	}}
	return e, e.negotiate(ctx)
}

// Close closes idle connections.
func (e *engine) Close() error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *engine) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", e.socket)
}

// negotiate asks the engine which version of the API it speaks, its newest. All
// requests then name that version.
func (e *engine) negotiate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/_ping", nil)
	if err != nil {
		return err
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNone, e.explainUnreachable(err))
	}
	defer resp.Body.Close()
	version := resp.Header.Get("Api-Version")
	if resp.StatusCode != http.StatusOK || version == "" {
		return fmt.Errorf("%w: the program that listens on %s is no container engine: it answers %s", ErrNone,
			e.socket, resp.Status)
	}
	e.base = "http://engine/v" + version
	return nil
}

// explainUnreachable returns the error for an engine that cannot be reached, with the
// command that installs or starts it, or that gives the user the right to use it.
func (e *engine) explainUnreachable(err error) error {
	_, missing := hostexec.Finder{}.Look("dockerd")
	if missing != nil {
		_, missing = hostexec.Finder{}.Look("docker")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && missing != nil:
		return fmt.Errorf("there is no %s: Docker is not installed (Debian, Ubuntu: apt-get install docker.io)",
			e.socket)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("the Docker daemon does not run: no program listens on %s (systemctl start docker)",
			e.socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("you may not use the Docker daemon at %s (usermod -aG docker YOU, and log in again; "+
			"that is as good as being root)", e.socket)
	}
	return fmt.Errorf("the Docker daemon at %s does not answer: %w", e.socket, err)
}

// An engineError is the engine's refusal of a request.
type engineError struct {
	status int
	text   string
}

func (e *engineError) Error() string { return "the container engine refused: " + e.text }

// isGone reports whether err says that a container does not exist any more, or
// is about to be removed.
func isGone(err error) bool {
	var e *engineError
	return errors.As(err, &e) && (e.status == http.StatusNotFound || e.status == http.StatusConflict)
}

// call makes a request, with in as JSON, and decodes the answer into out unless
// that is nil.
func (e *engine) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := e.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(out)
	}
	if err != nil {
		return fmt.Errorf("the container engine's answer: %w", err)
	}
	return nil
}

// request makes a request. The caller closes the body of the answer.
func (e *engine) request(ctx context.Context, method, path string, in any) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, e.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the container engine: %w", err)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refused(resp)
}

// refused returns the error in an answer.
func refused(resp *http.Response) error {
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a part of it is better than nothing
	var answer struct{ Message string }
	if json.Unmarshal(said, &answer) != nil || answer.Message == "" {
		answer.Message = strings.TrimSpace(resp.Status + " " + string(said))
	}
	return &engineError{resp.StatusCode, answer.Message}
}

// attach connects to the input and the outputs of a container that has not been
// started yet.
func (e *engine) attach(ctx context.Context, id string) (net.Conn, io.Reader, error) {
	conn, err := e.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r, err := upgrade(conn, e.base+"/containers/"+id+"/attach?stream=1&stdin=1&stdout=1&stderr=1")
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("the input and output of the container: %w", err)
	}
	return conn, r, nil
}

// upgrade turns a connection into a stream in both directions, of which it
// returns the reader. It sends a request to upgrade, as the engine wants it for
// attach; some engines answer 101 and some 200, and mean the same. Bytes that
// the engine sends right after its answer are in the reader's buffer.
func upgrade(conn net.Conn, target string) (io.Reader, error) {
	req, err := http.NewRequest(http.MethodPost, target, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "tcp")
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols && resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refused(resp)
	}
	return r, nil
}

// An engineInfo is the part of GET /info that is looked at.
type engineInfo struct {
	OSType          string
	SecurityOptions []string
	Runtimes        map[string]struct{}
}

// create makes a container and returns its id.
func (e *engine) create(ctx context.Context, config any) (string, error) {
	var made struct{ ID string }
	err := e.call(ctx, http.MethodPost, "/containers/create", config, &made)
	return made.ID, err
}

// kill sends a signal to the first process of a container.
func (e *engine) kill(ctx context.Context, id, signal string) error {
	return e.call(ctx, http.MethodPost, "/containers/"+id+"/kill?signal="+signal, nil, nil)
}

// end kills everything in a container, waits until it is dead, and removes it. A
// container that does not exist is no error: the engine removes those that end
// by themselves, at the same time perhaps.
func (e *engine) end(ctx context.Context, id string) error {
	err := e.kill(ctx, id, "SIGKILL")
	if err == nil || isGone(err) {
		err = e.call(ctx, http.MethodPost, "/containers/"+id+"/wait?condition=not-running", nil, nil)
	}
	if err == nil || isGone(err) {
		err = e.call(ctx, http.MethodDelete, "/containers/"+id+"?force=1&v=1", nil, nil)
	}
	if isGone(err) {
		return nil
	}
	return err
}

// labelled returns the labels of all containers that have a label, by their ids.
// label is NAME or NAME=VALUE.
func (e *engine) labelled(ctx context.Context, label string) (map[string]map[string]string, error) {
	filter, err := json.Marshal(map[string][]string{"label": {label}})
	if err != nil {
		return nil, err
	}
	var list []struct {
		ID     string
		Labels map[string]string
	}
	if err := e.call(ctx, http.MethodGet, "/containers/json?all=1&filters="+url.QueryEscape(string(filter)),
		nil, &list); err != nil {
		return nil, err
	}
	found := make(map[string]map[string]string, len(list))
	for _, c := range list {
		found[c.ID] = c.Labels
	}
	return found, nil
}

// ensureImage fetches an image unless the engine has it, and says so before, because that
// takes a while.
func (e *engine) ensureImage(ctx context.Context, image string, warn func(string)) error {
	err := e.call(ctx, http.MethodGet, "/images/"+image+"/json", nil, nil)
	var missing *engineError
	if !errors.As(err, &missing) || missing.status != http.StatusNotFound {
		return err
	}
	warn("fetching the image " + image + "; this takes a while")
	if err := e.pull(ctx, image); err != nil {
		return fmt.Errorf("the image %s is missing and cannot be fetched (try docker pull %s, or another "+
			"[sandbox] image): %w", image, image, err)
	}
	return nil
}

// pull fetches an image. The engine answers with a stream of JSON objects, one
// of which may be an error.
func (e *engine) pull(ctx context.Context, image string) error {
	if !strings.Contains(image[strings.LastIndexByte(image, '/')+1:], ":") && !strings.Contains(image, "@") {
		image += ":latest" // without a tag the engine fetches all tags
	}
	resp, err := e.request(ctx, http.MethodPost, "/images/create?fromImage="+url.QueryEscape(image), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for progress := json.NewDecoder(resp.Body); ; {
		var said struct{ Error string }
		if err := progress.Decode(&said); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if said.Error != "" {
			return errors.New(said.Error)
		}
	}
}
