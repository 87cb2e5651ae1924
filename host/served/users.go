package served

import (
	"cmp"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/server"
)

// Names returns the host names under which the configuration lets the server be
// reached, beside those of the machine's loopback interface.
func (h Host) Names() []string {
	hosts := slices.Clone(h.Config.Serve.Hosts)
	if u, err := url.Parse(h.Config.Serve.Public); err == nil && u.Host != "" {
		hosts = append(hosts, u.Hostname())
	}
	if host, _, err := net.SplitHostPort(h.Config.Serve.Addr); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	return hosts
}

// Users returns the users of the configuration. If it has none, there is one
// whose token is kept in the data directory.
func (h Host) Users() ([]server.User, error) {
	serve := h.Config.Serve
	root := cmp.Or(serve.Root, filepath.Join(h.Config.DataDir, "workspaces"))
	quota := server.Quota{Running: serve.Sessions, Kept: serve.SessionsKept, Hourly: serve.SessionsPerHour,
		Disk: serve.Disk, Upload: serve.UploadPerHour}
	var all []server.User
	for _, name := range h.Config.UserNames() {
		u := h.Config.Users[name]
		token := string(u.Token)
		if u.TokenEnv != "" {
			if token = h.Getenv(u.TokenEnv); token == "" {
				return nil, fmt.Errorf("users.%s.token_env: %s is not set", name, u.TokenEnv)
			}
		}
		all = append(all, server.User{Name: name, Token: token, Approve: u.Approve, Root: filepath.Join(root, name),
			Admin: u.Admin, Quota: quota})
	}
	if len(all) > 0 {
		return all, nil
	}
	token, err := keptToken(filepath.Join(h.Config.DataDir, "serve.token"))
	local := server.User{Name: "local", Token: token, Approve: openmanus.ApproveAll, Root: root, Admin: true, Quota: quota}
	return []server.User{local}, err
}

// keptToken returns the token in a file: 160 random bits.
func keptToken(file string) (string, error) {
	return kept(file, func() (string, error) {
		var b [20]byte
		rand.Read(b[:])
		return strings.ToLower(base32.StdEncoding.EncodeToString(b[:])), nil
	})
}

// kept returns the line in a file that only the user can read. If there is no such file, it
// is made with a fresh line.
func kept(file string, fresh func() (string, error)) (string, error) {
	data, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSpace(string(data)), err
	}
	text, err := fresh()
	if err != nil {
		return "", err
	}
	return text, os.WriteFile(file, []byte(text+"\n"), 0o600)
}
