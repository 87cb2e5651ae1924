package tui

import (
	"context"
	"errors"
	"net/url"

	"github.com/openmanus-go/openmanus/internal/surface"
)

// atServers is where the API has the MCP servers. Only administrators of the server see them.
const atServers = "settings/servers"

// Servers implements [Keeper].
func (s *server) Servers(ctx context.Context) ([]surface.ServerSetting, error) {
	var got struct{ Servers []surface.ServerSetting }
	err := s.call(ctx, "GET", "settings", nil, &got)
	return got.Servers, err
}

// ChangeServer implements [Keeper].
func (s *server) ChangeServer(ctx context.Context, name string, c surface.ServerChange) error {
	return s.call(ctx, "PATCH", atServers+"/"+url.PathEscape(name), c, nil)
}

// RemoveServer implements [Keeper].
func (s *server) RemoveServer(ctx context.Context, name string) error {
	return s.call(ctx, "DELETE", atServers+"/"+url.PathEscape(name), nil, nil)
}

// ApproveServer implements [Keeper].
func (s *server) ApproveServer(ctx context.Context, name, hash, tools string) error {
	return s.call(ctx, "POST", atServers+"/approve", fields{"name": name, "hash": hash, "tools": tools}, nil)
}

// TestServer implements [Keeper]. It is the server that connects.
func (s *server) TestServer(ctx context.Context, name string) (t surface.ServerTested, err error) {
	err = s.call(ctx, "POST", atServers+"/test", fields{"name": name}, &t)
	return t, err
}

// SignIn implements [Keeper].
func (s *server) SignIn(ctx context.Context, name string) (in surface.SigningIn, err error) {
	err = s.call(ctx, "POST", atServers+"/sign-in", fields{"name": name}, &in)
	return in, err
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
