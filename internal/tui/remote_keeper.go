package tui

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// Servers implements [Keeper]. Only administrators of the server see them.
func (s *server) Servers(ctx context.Context) ([]Server, error) {
	var got struct{ Servers []Server }
	err := s.call(ctx, "GET", "settings", nil, &got)
	return got.Servers, err
}

// ServerDo implements [Keeper]. The changes concern sessions that begin afterwards. The
// hash in an approval makes sure that the person approves the server that was shown.
func (s *server) ServerDo(ctx context.Context, of Server, do ServerAct) (r ServerReport, err error) {
	const at = "settings/servers"
	say := func(text string) { r.Lines = append(r.Lines, text) }
	switch do {
	case TryServer:
		return s.tryServer(ctx, of.Name)
	case ApproveServer, ApproveTools:
		say("It is approved. Sessions that begin from now on have its tools.")
		return r, s.call(ctx, "POST", at+"/approve", fields{"name": of.Name, "hash": of.Hash, "tools": of.Tools}, nil)
	case SwitchOn, SwitchOff:
		say("Sessions that begin from now on are opened so.")
		return r, s.call(ctx, "PATCH", at+"/"+url.PathEscape(of.Name), fields{"disabled": do == SwitchOff}, nil)
	case RemoveServer:
		say("It is removed, with its approvals.")
		return r, s.call(ctx, "DELETE", at+"/"+url.PathEscape(of.Name), nil, nil)
	case SignIn:
		var in struct{ Link string }
		if err = s.call(ctx, "POST", at+"/sign-in", fields{"name": of.Name}, &in); in.Link == "" {
			say("It can be used without signing in.")
		} else {
			say("Open this link in a browser on the machine of the server, and then try it:")
			say(in.Link)
		}
		return r, err
	}
	return r, fmt.Errorf("there is no action %q", do)
}

// tryServer has the server connect to an MCP server.
func (s *server) tryServer(ctx context.Context, name string) (r ServerReport, err error) {
	var got ServerTested
	if err := s.call(ctx, "POST", "settings/servers/test", fields{"name": name}, &got); err != nil {
		return r, err
	}
	return got.Report(), nil
}

// Settings implements [Keeper]. The file is on another machine, perhaps, and is changed
// there.
func (s *server) Settings(ctx context.Context) (all Settings, err error) {
	var got struct {
		File   string
		Models []struct {
			Name, Model, Source, Key, Error string
			Default                         bool
		}
		Decisions []struct {
			What, Workspace, By string
			Allow               bool
		}
		Storage struct{ Directory string }
	}
	if err := s.call(ctx, "GET", "settings", nil, &got); err != nil {
		return all, err
	}
	add := func(key, value, from string) { all.Set = append(all.Set, Value{key, value, from}) }
	add("configuration file of the server", got.File, s.base)
	for _, m := range got.Models {
		text := m.Model + ", key " + m.Key
		if m.Error != "" {
			text = m.Error
		}
		if m.Default {
			text += ", of new sessions"
		}
		add("model "+m.Name, text, m.Source)
	}
	for _, d := range got.Decisions {
		add(map[bool]string{true: "always allowed", false: "always denied"}[d.Allow], d.What, "by "+d.By+" in "+d.Workspace)
	}
	add("data", got.Storage.Directory, s.base)
	return all, nil
}

// Edited implements [Keeper].
func (s *server) Edited(context.Context) (string, error) {
	return "", errors.New("the settings of a server are edited on its machine")
}
