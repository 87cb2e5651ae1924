package host

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/a2aclient"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/workspace"
)

// A RemoteAgent is an agent elsewhere that the configuration names, as it is listed.
type RemoteAgent struct {
	Name     string
	URL      string
	Approved string // the card that was approved, as a person reads it; "": none was
}

// remoteApprovals returns the cards that the user approved.
func remoteApprovals(cfg *config.Config) *a2aclient.Approvals {
	return a2aclient.NewApprovals(filepath.Join(cfg.DataDir, "a2a"))
}

// remoteSecrets adds the tokens of agents elsewhere that stand in the environment.
func (e Env) remoteSecrets(cfg *config.Config, values map[string]string) {
	for name, r := range cfg.A2A {
		if token, _ := e.lookup(r.TokenEnv); r.TokenEnv != "" && token != "" {
			values["token of a2a:"+name] = token
		}
	}
}

// remoteClient returns a client of an agent elsewhere.
func (e Env) remoteClient(cfg *config.Config, name string) (*a2aclient.Client, error) {
	r := cfg.A2A[name]
	if r == nil {
		return nil, mistake(fmt.Errorf("there is no agent elsewhere called %q: openmanus a2a add NAME URL", name))
	}
	token := string(r.Token)
	if r.TokenEnv != "" {
		if token, _ = e.lookup(r.TokenEnv); token == "" {
			return nil, mistake(fmt.Errorf("a2a.%s.token_env: %s is not set", name, r.TokenEnv))
		}
	}
	public, err := egress.New(egress.Policy{Mode: egress.Allow})
	if err != nil {
		return nil, err
	}
	c, err := a2aclient.New(a2aclient.Options{Name: name, URL: r.URL, Token: token, Dial: public.DialContext, Timeout: r.Timeout})
	if err != nil {
		return nil, mistake(err)
	}
	return c, nil
}

// RemoteKinds returns the agents elsewhere that the configuration names. Those that the
// user has not approved say so when they are used.
func (e Env) RemoteKinds(cfg *config.Config) []agents.Kind {
	var kinds []agents.Kind
	for _, name := range cfg.RemoteNames() {
		known := remoteApprovals(cfg)
		card, err := known.Approved(name, cfg.A2A[name].URL)
		about := ""
		if card != nil {
			about = card.Description()
		} else if err == nil {
			err = a2aclient.NotApproved(name)
		}
		k := agents.Remote(name, about, func(ws workspace.Workspace) ([]openmanus.Tool, error) {
			c, err := e.remoteClient(cfg, name)
			if err != nil {
				return nil, err
			}
			return a2aclient.Tools(c, known, ws), nil
		})
		k.Refused = err
		kinds = append(kinds, k)
	}
	return kinds
}

// RemoteAgents lists the agents elsewhere that the configuration names, in the order of
// their names, each with the card that a person approved. It connects to none.
func (e Env) RemoteAgents(cfg *config.Config) (list []RemoteAgent, err error) {
	for _, name := range cfg.RemoteNames() {
		r := RemoteAgent{Name: name, URL: cfg.A2A[name].URL}
		card, err := remoteApprovals(cfg).Approved(name, r.URL)
		if err != nil {
			return nil, err
		}
		if card != nil {
			r.Approved = card.Shown()
		}
		list = append(list, r)
	}
	return list, nil
}

// TestRemote reads the card of an agent elsewhere. shown is the card as a person reads it;
// state says whether it is the one that was approved: nil, or what to do.
func (e Env) TestRemote(ctx context.Context, cfg *config.Config, name string) (shown string, state, err error) {
	c, err := e.remoteClient(cfg, name)
	if err != nil {
		return "", nil, err
	}
	a, err := c.Agent(ctx)
	if err != nil {
		return "", nil, err
	}
	return a.Shown(), remoteApprovals(cfg).Check(name, cfg.A2A[name].URL, &a.Found), nil
}

// ApproveRemote approves the card that an agent elsewhere has now, and returns it as a
// person reads it.
func (e Env) ApproveRemote(ctx context.Context, cfg *config.Config, name string) (shown string, err error) {
	c, err := e.remoteClient(cfg, name)
	if err != nil {
		return "", err
	}
	a, err := c.Agent(ctx)
	if err != nil {
		return "", err
	}
	return a.Shown(), remoteApprovals(cfg).Approve(name, cfg.A2A[name].URL, &a.Found)
}

// RevokeRemote forgets what was approved of an agent elsewhere.
func RevokeRemote(cfg *config.Config, name string) error { return remoteApprovals(cfg).Revoke(name) }
