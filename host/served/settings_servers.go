package served

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/mcp"
	"github.com/openmanus-go/openmanus/server"
)

// Servers implements [server.ServerKeeper].
func (h Host) Servers(context.Context) ([]server.ServerSetting, error) {
	all := []server.ServerSetting{}
	approved := host.Approvals(h.Config)
	for _, c := range h.CurrentServers() {
		shown := host.ServerConfig(c)
		ok, err := approved.Approved(shown.ID)
		if err != nil {
			return nil, err
		}
		b, err := host.ServerBound(h.Env, h.Config, c)
		if err != nil {
			return nil, err
		}
		all = append(all, server.ServerSetting{Name: c.Name, Shown: b.Shown(shown), Hash: b.Hash(shown), Source: c.Source.String(), Own: h.own(c) == nil,
			Found: c.Found, Approved: (ok || !c.Found) && b.Changed == "", Disabled: c.Disabled, Remote: c.URL != ""})
	}
	return all, nil
}

// server returns the MCP server with the name.
func (h Host) server(name string) (config.MCPServer, error) {
	for _, s := range h.CurrentServers() {
		if s.Name == name {
			return s, nil
		}
	}
	return config.MCPServer{}, &server.FieldError{Field: "name", Err: server.Absent(fmt.Sprintf("there is no MCP server %q", name))}
}

// approvedServer returns the MCP server with the name, if it may be started: a server that
// was found in a workspace needs an approval first.
func (h Host) approvedServer(name string) (config.MCPServer, error) {
	s, err := h.server(name)
	if err != nil {
		return s, err
	}
	if ok, err := host.Approvals(h.Config).Approved(host.ServerConfig(s).ID); err != nil || s.Found && !ok {
		return s, errors.Join(err, &server.FieldError{Field: "name", Err: errors.New("the server was found in a workspace and is not approved")})
	}
	return s, nil
}

// own returns an error unless the server is in the user's own file, which is the only one that
// is changed here.
func (h Host) own(s config.MCPServer) error {
	path, err := config.MCPFile("", h.Lookup)
	if err == nil && s.Source.Name != path {
		err = &server.FieldError{Field: "name", Err: fmt.Errorf("it is configured in %s: change it there", s.Source)}
	}
	return err
}

// ownServer returns the MCP server with the name, if it is in the user's own file.
func (h Host) ownServer(name string) (config.MCPServer, error) {
	s, err := h.server(name)
	if err == nil {
		err = h.own(s)
	}
	return s, err
}

// AddServer implements [server.ServerKeeper]. It writes the server into the user's own
// file. Because a person enters it, it needs no further approval.
func (h Host) AddServer(ctx context.Context, n server.NewServer) error {
	entry := make(map[string]any)
	switch {
	case (n.URL == "") == (len(n.Command) == 0):
		return &server.FieldError{Field: "url", Err: errors.New("an MCP server is either a command or a URL")}
	case n.URL != "":
		if err := config.CheckMCPURL(n.URL); err != nil {
			return &server.FieldError{Field: "url", Err: err}
		}
		entry["url"], entry["headers"] = n.URL, n.Headers
	case strings.TrimSpace(n.Command[0]) == "":
		return &server.FieldError{Field: "command", Err: errors.New("the first word is the program")}
	default:
		entry["command"], entry["args"], entry["env"] = n.Command[0], n.Command[1:], n.Env
	}
	for key, v := range entry { // what is empty is not written
		switch v := v.(type) {
		case map[string]string:
			if len(v) == 0 {
				delete(entry, key)
			}
		case []string:
			if len(v) == 0 {
				delete(entry, key)
			}
		}
	}
	path, err := config.MCPFile("", h.Lookup)
	if err != nil {
		return err
	}
	if err := config.AddMCP(path, n.Name, entry); errors.Is(err, fs.ErrExist) {
		return &server.FieldError{Field: "name", Err: fmt.Errorf("there is a server %q", n.Name)}
	} else if err != nil {
		return err
	}
	if err := h.ReadServers(ctx); err != nil { // the new one is at fault: it was possible before
		return errors.Join(err, config.RemoveMCP(path, n.Name), h.ReadServers(ctx))
	}
	s, err := h.server(n.Name)
	if err != nil {
		return err
	}
	return host.ApproveServer(h.Env, h.Config, s)
}

// ChangeServer implements [server.ServerKeeper].
func (h Host) ChangeServer(ctx context.Context, name string, c server.ServerChange) error {
	s, err := h.ownServer(name)
	if err != nil {
		return err
	}
	members := make(map[string]any)
	if c.Disabled != nil {
		members["disabled"] = *c.Disabled
	}
	if len(c.With)+len(c.Without) > 0 {
		with := func(list []string, more, less []string) []string {
			list = slices.DeleteFunc(slices.Concat(list, more), func(t string) bool { return slices.Contains(less, t) })
			slices.Sort(list)
			return slices.Compact(list)
		}
		members["deny"] = any(with(s.Deny, c.Without, c.With))
		if len(s.Allow) > 0 {
			members["allow"] = with(s.Allow, c.With, nil)
		}
	}
	if deny, ok := members["deny"].([]string); ok && len(deny) == 0 {
		members["deny"] = nil
	}
	if err := config.SetMCP(s.Source.Name, name, members); err != nil {
		return err
	}
	return h.ReadServers(ctx)
}

// RemoveServer implements [server.ServerKeeper]. The approvals and the sign-in go as well.
// A server of a workspace's file cannot be removed here.
func (h Host) RemoveServer(ctx context.Context, name string) error {
	s, err := h.ownServer(name)
	if err != nil {
		return err
	}
	in := mcp.SignIn{Dir: host.Granted(h.Config)}
	if err := errors.Join(host.RevokeServer(h.Config, name), in.Forget(host.ServerConfig(s))); err != nil {
		return err
	}
	if err := config.RemoveMCP(s.Source.Name, name); err != nil {
		return err
	}
	return h.ReadServers(ctx)
}

// ApproveServer implements [server.ServerKeeper]. hash is that of the server, and tools
// that of the list, as the person saw them: if either has changed since, nothing is
// approved.
func (h Host) ApproveServer(ctx context.Context, name, hash, tools string) error {
	s, err := h.server(name)
	if err != nil {
		return err
	}
	b, err := host.ServerBound(h.Env, h.Config, s)
	if err != nil {
		return err
	}
	if b.Hash(host.ServerConfig(s)) != hash {
		return &server.FieldError{Field: "hash", Err: errors.New("the server is not the one that was shown: look again")}
	}
	if tools == "" {
		if err := host.ApproveServer(h.Env, h.Config, s); err != nil {
			return err
		}
		return h.ReadServers(ctx)
	}
	if s, err = h.approvedServer(name); err != nil {
		return err
	}
	_, err = h.TryServer(ctx, s, nil, func(client *mcp.Client) error {
		if toolsHash(client.Status()[0].Tools) != tools {
			return &server.FieldError{Field: "tools", Err: errors.New("its tools are not those that were shown: look again")}
		}
		return client.Approve(name)
	})
	if err != nil {
		return h.serverError(err)
	}
	return h.ReadServers(ctx)
}

// toolsHash is a different value for different tools, as far as they are shown.
func toolsHash(tools []mcp.ToolStatus) string {
	h := sha256.New()
	for _, t := range tools {
		fmt.Fprintf(h, "%q %q %q\n", t.Original, t.Description, t.Held)
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:32]
}

// serverError leaves secrets out of what an MCP server said.
func (h Host) serverError(err error) error {
	if field := (*server.FieldError)(nil); errors.As(err, &field) {
		return err
	}
	return errors.New(h.Secrets.Replace(inWords(err)))
}

// inWords says why an MCP server cannot be used: the usual reasons as sentences, which the
// libraries below bury in what they were doing.
func inWords(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "executable file not found"), strings.Contains(text, "is not in PATH"), strings.Contains(text, "no such file or directory"):
		return "The program was not found. Is it installed, and in the PATH of openmanus serve? (" + text + ")"
	case strings.Contains(text, "connection refused"):
		return "Nothing answers at its address: the connection was refused. Is the server running?"
	case strings.Contains(text, "no such host"):
		return "Its host is not known: there is no such name. Is the address right?"
	case errors.Is(err, context.DeadlineExceeded):
		return "It did not answer in time. (" + text + ")"
	}
	return text
}

// TestServer implements [server.ServerKeeper]. Tools that are switched off are listed too.
func (h Host) TestServer(ctx context.Context, name string) (t server.ServerTested, err error) {
	s, err := h.approvedServer(name)
	if err != nil {
		return t, err
	}
	allow, deny := s.Allow, s.Deny
	s.Allow, s.Deny = nil, nil
	st, err := h.TryServer(ctx, s, nil, nil)
	if err != nil {
		return t, h.serverError(err)
	}
	t = server.ServerTested{Software: st.Software, Protocol: st.Protocol, Millis: st.Took.Milliseconds(), Tools: []server.ServerTool{},
		Hash: toolsHash(st.Tools), Notes: append([]string{}, st.Notes...)}
	for _, tool := range st.Tools {
		off := slices.Contains(deny, tool.Original) || len(allow) > 0 && !slices.Contains(allow, tool.Original)
		t.Tools = append(t.Tools, server.ServerTool{Name: tool.Original, Description: tool.Description, Held: tool.Held, Off: off})
	}
	slices.SortStableFunc(t.Tools, func(a, b server.ServerTool) int { return cmp.Compare(a.Name, b.Name) })
	return t, nil
}

// SignIn implements [server.ServerKeeper]. It returns the link that the person opens, or
// says that no sign-in is needed. SignedIn says how it ends.
func (h Host) SignIn(ctx context.Context, name string) (server.SigningIn, error) {
	s, err := h.approvedServer(name)
	if err != nil {
		return server.SigningIn{}, err
	}
	link, err := h.Host.SignIn(ctx, s)
	if err != nil {
		return server.SigningIn{}, h.serverError(err)
	}
	return server.SigningIn{Link: link, Ended: link == ""}, nil
}

// SignedIn implements [server.ServerKeeper].
func (h Host) SignedIn(_ context.Context, name string) (server.SigningIn, error) {
	ended, err := h.Host.SignedIn(name)
	in := server.SigningIn{Ended: ended}
	if err != nil {
		in.Error = h.serverError(err).Error()
	}
	return in, nil
}
