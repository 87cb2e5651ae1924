package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// robots is what a robots.txt asks of us.
type robots struct {
	rules []rule
}

type rule struct {
	allow   bool
	pattern string
}

// errRobots is the error for a page that its site asks robots not to read.
var errRobots = errors.New("the site's robots.txt asks that it is not read by robots ([web] robots = false does not keep to that)")

// allowed asks the site of u whether u may be read. A site that has no
// robots.txt, or whose cannot be had, allows everything.
func (r *Reader) allowed(ctx context.Context, u *url.URL) error {
	site := u.Scheme + "://" + u.Host
	r.mu.Lock()
	rules := r.rules[site]
	r.mu.Unlock()
	if rules == nil {
		rules = &robots{}
		bare := &Reader{Client: r.Client, MaxBytes: 512 << 10}
		if b, err := bare.fetch(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}); err == nil {
			rules = parseRobots(string(b.Data))
		} else if ctx.Err() != nil {
			return err
		}
		r.mu.Lock()
		if r.rules == nil {
			r.rules = make(map[string]*robots)
		}
		r.rules[site] = rules
		r.mu.Unlock()
	}
	p := u.EscapedPath()
	if p == "" {
		p = "/"
	}
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	if !rules.allows(p) {
		return fmt.Errorf("%s is not read: %w", u, errRobots)
	}
	return nil
}

// parseRobots reads a robots.txt as RFC 9309 says: the group for us, or else
// that for all.
func parseRobots(text string) *robots {
	var ours, all robots
	mine, every, naming, found := false, false, false, false
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(field)) {
		case "user-agent":
			if !naming {
				mine, every = false, false
			}
			naming = true
			mine = mine || strings.EqualFold(value, robot)
			every = every || value == "*"
			found = found || mine
		case "allow", "disallow":
			naming = false
			if value == "" {
				continue
			}
			rl := rule{strings.EqualFold(strings.TrimSpace(field), "allow"), value}
			if mine {
				ours.rules = append(ours.rules, rl)
			}
			if every {
				all.rules = append(all.rules, rl)
			}
		}
	}
	if found {
		return &ours
	}
	return &all
}

// allows reports whether a path may be read: the longest rule that fits says.
func (r *robots) allows(p string) bool {
	allow, best := true, -1
	for _, rl := range r.rules {
		if n := len(rl.pattern); fits(rl.pattern, p) && (n > best || n == best && rl.allow) {
			allow, best = rl.allow, n
		}
	}
	return allow
}

// fits reports whether a path begins as a pattern says: * is anything, $ at
// its end is the path's end.
func fits(pattern, p string) bool {
	pattern, end := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(p, parts[0]) {
		return false
	}
	p = p[len(parts[0]):]
	for i, part := range parts[1:] {
		if end && i == len(parts)-2 {
			return strings.HasSuffix(p, part)
		}
		at := strings.Index(p, part)
		if at < 0 {
			return false
		}
		p = p[at+len(part):]
	}
	return !end || p == ""
}
