package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/near"
)

// An MCPServer is an entry of an mcp.json: how to reach one MCP server, either a
// program (Command) or an address (URL). [MCPServer.Expanded] replaces ${NAME} in
// the values.
type MCPServer struct {
	Name   string
	Source Source // where it is configured
	Found  bool   // in a workspace: it may come from a stranger, so the user approves it before it is used

	Command string            // of a server that this program starts
	Args    []string          //
	Env     map[string]string // added to a minimal environment
	Dir     string            // where it runs, absolute; "": in a directory of its own

	URL          string            // of a server that is asked over HTTP
	Headers      map[string]string // of every request to it
	ClientID     string            // of OAuth, if this program is registered with the server
	ClientSecret string
	Type         string // "stdio", "http" or "sse"; "" with a URL: http, and sse where that is all it speaks

	Disabled     bool
	Trust        bool // the annotations of its tools are believed
	Allow, Deny  []string
	Timeout      time.Duration // of one call; 0: the default
	StartTimeout time.Duration // until its first answer; 0: the default
}

// mcpPlaces are the files in the working directory that are read: ours, and
// OpenManus'.
var mcpPlaces = []string{"mcp.json", "config/mcp.json"}

// MCPFile returns the path of the user's own mcp.json.
func MCPFile(goos string, env Lookup) (string, error) {
	dir, err := UserDir(goos, env)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "mcp.json"), nil
}

// MCPServers reads the MCP servers of all files: file, if it is not "", which
// must exist; the user's; and those in dir. If two servers have the same name,
// the one in the earlier file counts, and there is a warning. The servers are
// sorted by name. An error is [Errors].
func MCPServers(file, dir string, env Lookup) ([]MCPServer, []Warning, error) {
	r := mcpReader{env: env, by: map[string]MCPServer{}}
	if file != "" {
		r.file(file, true, false)
	}
	if own, err := MCPFile("", env); err == nil {
		r.file(own, false, false)
	}
	for _, p := range mcpPlaces {
		r.file(filepath.Join(dir, filepath.FromSlash(p)), false, true)
	}
	if len(r.errs) > 0 {
		return nil, r.warnings, r.errs
	}
	byName := func(a, b MCPServer) int { return strings.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(r.by), byName), r.warnings, nil
}

// An mcpReader collects the servers of several files.
type mcpReader struct {
	env      Lookup
	by       map[string]MCPServer
	read     []string
	warnings []Warning
	errs     Errors
}

// file reads one file. With must, a file that does not exist is an error; with
// found, the file is one of a workspace and not trusted.
func (r *mcpReader) file(path string, must, found bool) {
	if slices.Contains(r.read, path) {
		return
	}
	r.read = append(r.read, path)
	data, _, err := readFile(path, !found)
	if err == nil && !must && !found {
		err = ownFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) && !must {
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &Error{Source: Source{From: File, Name: path}, Text: "does not exist"}
	}
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	servers, warnings, errs := ParseMCP(path, data)
	r.errs, r.warnings = append(r.errs, errs...), append(r.warnings, warnings...)
	for _, s := range servers {
		if first, taken := r.by[s.Name]; taken {
			r.warnings = append(r.warnings, Warning{s.Source, "mcpServers." + s.Name, "is not used: " + first.Source.String() + " has a server with that name"})
			continue
		}
		s.Found = found
		s.Trust = s.Trust && !found
		r.by[s.Name] = s
	}
}

// ParseMCP reads data, the text of the mcp.json called name. A relative directory of a
// server begins at that of the file. A server with a mistake is left out, and the mistake is among the
// errors.
func ParseMCP(name string, data []byte) ([]MCPServer, []Warning, Errors) {
	p := mcpParser{name: name}
	root, err := parseJSON(data)
	if err != nil {
		return nil, nil, Errors{&Error{Source: Source{From: File, Name: name, Line: err.line}, Text: "is no JSON: " + err.text}}
	}
	if root.kind != "an object" {
		p.fail(root, "", "found "+root.kind+`, a file of MCP servers is {"mcpServers": {"NAME": {…}}}`)
		return nil, nil, p.errs
	}
	list := root.member("mcpServers")
	switch {
	case list == nil && root.member("servers") != nil:
		p.fail(root.member("servers"), "servers", `the servers stand below "mcpServers"`)
	case list == nil:
		return nil, []Warning{{Source{From: File, Name: name, Line: root.line}, "", `has no "mcpServers"`}}, nil
	case list.kind != "an object":
		p.fail(list, "mcpServers", "found "+list.kind+", allowed is an object: a server for every name")
	default:
		for _, m := range list.members {
			p.server(m)
		}
	}
	return p.servers, p.warnings, p.errs
}

// An mcpParser collects the servers and the mistakes of one file.
type mcpParser struct {
	name     string
	servers  []MCPServer
	warnings []Warning
	errs     Errors
}

// at returns the source of a value.
func (p *mcpParser) at(n *jsonNode) Source { return Source{From: File, Name: p.name, Line: n.line} }

// fail adds a mistake.
func (p *mcpParser) fail(n *jsonNode, key, text string) {
	p.errs = append(p.errs, &Error{Source: p.at(n), Key: key, Text: text})
}

// server reads the entry m.
func (p *mcpParser) server(m jsonMember) {
	key := "mcpServers." + quotedName(m.name)
	if m.name == "" || len(m.name) > 100 || strings.ContainsFunc(m.name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		p.fail(m.value, key, "a server's name has 1 to 100 characters, none of them a control character")
		return
	}
	if m.value.kind != "an object" {
		p.fail(m.value, key, "found "+m.value.kind+", allowed is an object")
		return
	}
	before := len(p.errs)
	s := MCPServer{Name: m.name, Source: p.at(m.value)}
	for _, f := range m.value.members {
		p.field(&s, key+"."+quotedName(f.name), f)
	}
	if len(p.errs) == before {
		p.whole(&s, m.value, key)
	}
	if len(p.errs) == before {
		p.servers = append(p.servers, s)
	}
}

// mcpFields are the keys of an entry, for a hint when one is misspelt.
var mcpFields = []string{"type", "transport", "command", "args", "env", "cwd", "url", "headers", "client_id", "client_secret", "disabled", "trust", "allow", "deny", "timeout", "start_timeout"}

// field sets the field of s that f is about. An unknown field is a warning, since
// other programs have fields of their own.
func (p *mcpParser) field(s *MCPServer, key string, f jsonMember) {
	switch f.name {
	case "type", "transport":
		s.Type = p.transport(key, f.value)
	case "command":
		s.Command = p.text(key, f.value)
	case "args":
		s.Args = p.list(key, f.value)
	case "env":
		s.Env = p.table(key, f.value)
	case "cwd":
		if s.Dir = p.text(key, f.value); !filepath.IsAbs(s.Dir) {
			s.Dir = filepath.Join(filepath.Dir(p.name), s.Dir)
		}
	case "url":
		s.URL = p.text(key, f.value)
	case "headers":
		s.Headers = p.table(key, f.value)
	case "client_id":
		s.ClientID = p.text(key, f.value)
	case "client_secret":
		s.ClientSecret = p.text(key, f.value)
	case "disabled":
		s.Disabled = p.flag(key, f.value)
	case "trust":
		s.Trust = p.flag(key, f.value)
	case "allow":
		s.Allow = p.list(key, f.value)
	case "deny":
		s.Deny = p.list(key, f.value)
	case "timeout":
		s.Timeout = p.seconds(key, f.value)
	case "start_timeout":
		s.StartTimeout = p.seconds(key, f.value)
	case "name", "description", "$schema":
	default:
		w := Warning{p.at(f.value), key, "is not known here, and has no effect"}
		if hint := didYouMean(near.Nearest(f.name, mcpFields)); hint != "" {
			w.Text += " (" + hint + ")"
		}
		p.warnings = append(p.warnings, w)
	}
}

// whole checks the keys of an entry that depend on each other.
func (p *mcpParser) whole(s *MCPServer, n *jsonNode, key string) {
	switch {
	case s.Command == "" && s.URL == "":
		p.fail(n, key, `needs a "command" or a "url"`)
	case s.Command != "" && s.URL != "":
		p.fail(n, key, `has a "command" and a "url": one of the two`)
	case s.Type == "stdio" && s.Command == "":
		p.fail(n, key, `is of type stdio, and has no "command"`)
	case s.Type != "" && s.Type != "stdio" && s.URL == "":
		p.fail(n, key, "is of type "+s.Type+`, and has no "url"`)
	case s.URL != "" && !strings.Contains(s.URL, "${"):
		if err := CheckMCPURL(s.URL); err != nil {
			p.fail(n.member("url"), key+".url", err.Error())
		}
	}
}

// CheckMCPURL says what is wrong with the address of an MCP server.
func CheckMCPURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("is no URL: %w", errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("allowed: an address that begins with http:// or https://")
	case u.User != nil:
		return errors.New("has a user in it: give the credentials as headers")
	}
	return nil
}

// transport returns the type of a server: "stdio", "sse", "http", or "" to infer it.
func (p *mcpParser) transport(key string, n *jsonNode) string {
	switch t := strings.ToLower(p.text(key, n)); t {
	case "", "stdio", "sse", "http":
		return t
	case "streamable-http", "streamable_http", "streamablehttp":
		return "http"
	}
	p.fail(n, key, "found "+quoted(n.text)+", allowed: stdio, http, sse")
	return ""
}

// text returns a string.
func (p *mcpParser) text(key string, n *jsonNode) string {
	if n.kind != "a string" {
		p.fail(n, key, "found "+n.kind+", allowed is a string")
	} else if strings.ContainsRune(n.text, 0) {
		p.fail(n, key, "contains a NUL character")
	}
	return n.text
}

// flag returns true or false.
func (p *mcpParser) flag(key string, n *jsonNode) bool {
	if n.kind != "true" && n.kind != "false" {
		p.fail(n, key, "found "+n.kind+", allowed is true or false")
	}
	return n.kind == "true"
}

// seconds returns a number of seconds as a duration.
func (p *mcpParser) seconds(key string, n *jsonNode) time.Duration {
	if n.kind != "a number" || !(n.number > 0) || n.number > 86400 {
		p.fail(n, key, "allowed is a number of seconds, above 0 and up to 86400")
		return 0
	}
	return time.Duration(n.number * float64(time.Second))
}

// list returns an array of strings.
func (p *mcpParser) list(key string, n *jsonNode) []string {
	if n.kind != "an array" {
		p.fail(n, key, "found "+n.kind+", allowed is an array of strings")
		return nil
	}
	var list []string
	for i, m := range n.members {
		list = append(list, p.text(fmt.Sprintf("%s[%d]", key, i), m.value))
	}
	return list
}

// table returns an object of strings. Numbers, true and false count as strings, which is
// how people write ports and switches.
func (p *mcpParser) table(key string, n *jsonNode) map[string]string {
	if n.kind != "an object" {
		p.fail(n, key, "found "+n.kind+", allowed is an object of strings")
		return nil
	}
	table := map[string]string{}
	for _, m := range n.members {
		if m.value.kind == "a number" || m.value.kind == "true" || m.value.kind == "false" {
			m.value.kind = "a string" // as people write ports and switches
		}
		table[m.name] = p.text(key+"."+quotedName(m.name), m.value)
	}
	return table
}

// reference matches ${NAME} and ${NAME:-DEFAULT} in a value.
var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// Expanded returns s with the values of the variables that its values refer to:
// ${NAME}, or ${NAME:-DEFAULT} if it may be unset. The error is an [*Error] that
// names the variables that are not set.
func (s MCPServer) Expanded(env Lookup) (MCPServer, error) {
	var missing []string
	expand := func(text string) string {
		return reference.ReplaceAllStringFunc(text, func(ref string) string {
			m := reference.FindStringSubmatch(ref)
			if v := env.get(m[1]); v != "" || m[2] != "" {
				if v == "" {
					v = m[2][2:]
				}
				return v
			}
			if !slices.Contains(missing, m[1]) {
				missing = append(missing, m[1])
			}
			return ""
		})
	}
	each := func(table map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range table {
			out[k] = expand(v)
		}
		return out
	}
	s.Command, s.URL, s.Dir, s.ClientSecret = expand(s.Command), expand(s.URL), expand(s.Dir), expand(s.ClientSecret)
	s.Env, s.Headers = each(s.Env), each(s.Headers)
	s.Args = slices.Clone(s.Args)
	for i, a := range s.Args {
		s.Args[i] = expand(a)
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return s, &Error{Source: s.Source, Key: "mcpServers." + quotedName(s.Name), Text: "names environment variables that are not set: " + strings.Join(missing, ", ")}
	}
	if s.URL != "" {
		if err := CheckMCPURL(s.URL); err != nil {
			return s, &Error{Source: s.Source, Key: "mcpServers." + quotedName(s.Name) + ".url", Text: err.Error()}
		}
	}
	return s, nil
}
