package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/openmanus-go/openmanus/internal/wholefile"
)

// ErrNoServer is in the chain of the error if a file has no MCP server of the
// name.
var ErrNoServer = errors.New("there is no such MCP server")

// AddMCP adds the entry of a server, encoded as JSON, to the mcp.json at path. It
// makes the file if necessary, and keeps everything else in it, in its order. If
// the name is taken, the error is [fs.ErrExist].
func AddMCP(path, name string, entry any) error {
	data, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	return editMCP(path, func(servers orderedObject) (orderedObject, error) {
		if slices.ContainsFunc(servers, func(m orderedMember) bool { return m.name == name }) {
			return nil, fmt.Errorf("%s has a server %q: %w", path, name, fs.ErrExist)
		}
		return append(servers, orderedMember{name, data}), nil
	})
}

// RemoveMCP removes the server with the name from the mcp.json at path. If there
// is none, the error is [ErrNoServer].
func RemoveMCP(path, name string) error {
	return editMCP(path, func(servers orderedObject) (orderedObject, error) {
		kept := slices.DeleteFunc(slices.Clone(servers), func(m orderedMember) bool { return m.name == name })
		if len(kept) == len(servers) {
			return nil, fmt.Errorf("%s: %q: %w", path, name, ErrNoServer)
		}
		return kept, nil
	})
}

// SetMCP sets members of the entry of a server in the mcp.json at path, and removes those
// whose value is nil. The others stay as they are. If there is no such server, the error is
// [ErrNoServer].
func SetMCP(path, name string, members map[string]any) error {
	return editMCP(path, func(servers orderedObject) (orderedObject, error) {
		i := slices.IndexFunc(servers, func(m orderedMember) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s: %q: %w", path, name, ErrNoServer)
		}
		var entry orderedObject
		if err := json.Unmarshal(servers[i].value, &entry); err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			value, err := json.Marshal(members[key])
			if err != nil {
				return nil, err
			}
			at := slices.IndexFunc(entry, func(m orderedMember) bool { return m.name == key })
			switch {
			case members[key] == nil:
				entry = slices.DeleteFunc(entry, func(m orderedMember) bool { return m.name == key })
			case at < 0:
				entry = append(entry, orderedMember{key, value})
			default:
				entry[at].value = value
			}
		}
		var err error
		servers[i].value, err = json.Marshal(entry)
		return servers, err
	})
}

// editMCP replaces the servers in the mcp.json at path with what edit makes of
// them. A file with mistakes is not changed.
func editMCP(path string, edit func(orderedObject) (orderedObject, error)) error {
	data, mode, err := readFile(path, true)
	if errors.Is(err, fs.ErrNotExist) {
		data, mode, err = []byte("{}"), 0o600, nil
	}
	if err != nil {
		return err
	}
	if _, _, errs := ParseMCP(path, data); len(errs) > 0 {
		return errs
	}
	var top, servers orderedObject
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &top); err != nil {
		return err
	}
	i := slices.IndexFunc(top, func(m orderedMember) bool { return m.name == "mcpServers" })
	if i < 0 {
		i = len(top)
		top = append(top, orderedMember{"mcpServers", []byte("{}")})
	}
	if err := json.Unmarshal(top[i].value, &servers); err != nil {
		return err
	}
	if servers, err = edit(servers); err != nil {
		return err
	}
	if top[i].value, err = json.Marshal(servers); err != nil {
		return err
	}
	out, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Write(path, mode.Perm(), append(out, '\n'))
}

// An orderedObject is a JSON object that keeps the order of its members.
type orderedObject []orderedMember

// An orderedMember is a member of an orderedObject.
type orderedMember struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *orderedObject) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(err, errors.New("not an object"))
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		m := orderedMember{name: t.(string)} // the decoder takes nothing else here
		if err := dec.Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (o orderedObject) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
