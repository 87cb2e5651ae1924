package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// robots are the rules of a robots.txt that apply to us.
type robots []robotsRule

// A robotsRule allows or forbids the paths that begin as its pattern says.
type robotsRule struct {
	allow   bool
	pattern string
}

// errRobots is the error of a page that the site's robots.txt forbids.
var errRobots = errors.New(
	"the site's robots.txt asks robots not to read it ([web] robots = false ignores robots.txt)")

// maxRobots is how many bytes of a robots.txt are accepted. RFC 9309 asks for
// 500 KiB at least.
const maxRobots = 512 << 10

// allowed returns an error if the robots.txt of a site forbids an address. The file
// is read once for each site in the life of the Reader. A site whose file cannot
// be read forbids nothing; RFC 9309 (2.3.1.4) is stricter where the server fails.
func (r *Reader) allowed(ctx context.Context, u *url.URL) error {
	site := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	r.mu.Lock()
	rules := r.rules[site.String()]
	r.mu.Unlock()
	if rules == nil {
		rules = new(robots)
		plain := &Reader{Client: r.Client, MaxBytes: maxRobots}
		if b, err := plain.fetch(ctx, &site); err == nil {
			*rules = parseRobots(string(b.Data))
		} else if ctx.Err() != nil {
			return err
		}
		r.mu.Lock()
		if r.rules == nil {
			r.rules = make(map[string]*robots)
		}
		r.rules[site.String()] = rules
		r.mu.Unlock()
	}
	path := u.EscapedPath()
	path = cmp.Or(path, "/")
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	if !rules.allow(path) {
		return fmt.Errorf("%s is not read: %w", u, errRobots)
	}
	return nil
}

// parseRobots parses a robots.txt by RFC 9309: the rules of the groups that name
// us, or of those for all robots if none does. Lines that it does not understand
// are ignored.
func parseRobots(text string) robots {
	groups := make(map[string]robots) // by the name of the robot, in lower case
	var names []string                // that the present group is for
	naming := false                   // the last line named one
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "\ufeff"), "#")
		field, value, _ := strings.Cut(line, ":")
		field, value = strings.ToLower(strings.TrimSpace(field)), strings.TrimSpace(value)
		switch field {
		case "user-agent":
			if !naming {
				names = nil
			}
			naming = true
			name := strings.ToLower(value)
			names = append(names, name)
			if _, ok := groups[name]; !ok {
				groups[name] = nil // a group without rules counts: it forbids nothing
			}
		case "allow", "disallow":
			naming = false
			if value == "" { // it forbids nothing
				continue
			}
			for _, name := range names {
				groups[name] = append(groups[name], robotsRule{field == "allow", value})
			}
		}
	}
	if ours, ok := groups[robotName]; ok {
		return ours
	}
	return groups["*"]
}

// allow reports whether a path may be read. The longest matching rule counts;
// among equally long ones, one that allows.
func (r robots) allow(path string) bool {
	allow, longest := true, -1
	for _, rule := range r {
		n := len(rule.pattern)
		if matches(rule.pattern, path) && (n > longest || n == longest && rule.allow) {
			allow, longest = rule.allow, n
		}
	}
	return allow
}

// matches reports whether a path begins as a pattern says: * stands for anything,
// and $ at the end for the end of the path. It takes linear time.
func matches(pattern, path string) bool {
	pattern, toEnd := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	path, ok := strings.CutPrefix(path, parts[0])
	for i, part := range parts[1:] {
		if !ok {
			return false
		}
		if toEnd && i == len(parts)-2 {
			return strings.HasSuffix(path, part)
		}
		_, path, ok = strings.Cut(path, part)
	}
	return ok && (!toEnd || path == "")
}
