package web

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// A localTool is a tool whose calls may go to servers on this machine or in a private
// network, if the user allows it: its scope names them.
type localTool struct {
	openmanus.Tool
	r *Reader
}

var _ openmanus.Scoper = localTool{}

// Scope implements [openmanus.Scoper]: HOST:PORT of the servers that the call goes to,
// if all of them are on this machine or in a private network. Otherwise it is "": such
// a call cannot be allowed to reach one of them, which a page elsewhere could make use
// of.
func (t localTool) Scope(ctx context.Context, call openmanus.Call) (string, error) {
	var in struct {
		URL  string   `json:"url"`
		URLs []string `json:"urls"`
	}
	if json.Unmarshal([]byte(call.Input), &in) != nil || t.r.Local == nil {
		return "", nil // the call does not run, or goes nowhere special
	}
	if in.URL != "" {
		in.URLs = append(in.URLs, in.URL)
	}
	var targets []string
	for _, address := range in.URLs {
		l, ok := t.r.Local(ctx, address)
		if !ok {
			return "", nil
		}
		if !slices.Contains(targets, l.Target) {
			targets = append(targets, l.Target)
		}
	}
	return strings.Join(targets, between), nil
}

// between stands between the servers in a scope.
const between = ", "

// allowed returns a context for the requests of a call that the user allowed to go to
// the servers in its scope.
func allowed(ctx context.Context, call openmanus.Call) context.Context {
	if call.Scope == "" {
		return ctx
	}
	targets := strings.Split(call.Scope, between)
	return egress.WithLocal(ctx, func(target string) bool { return slices.Contains(targets, target) })
}
