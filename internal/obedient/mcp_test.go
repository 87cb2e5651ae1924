package obedient_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// serveMCP is an MCP server on standard input and output. Its tool "look" answers
// what the files of dir say; "send" writes its arguments to dir/log.
func serveMCP(dir string) {
	text := func(name, otherwise string) string {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return string(b)
		}
		return otherwise
	}
	type object = map[string]any
	strs := func(names ...string) object {
		props := object{}
		for _, n := range names {
			props[n] = object{"type": "string"}
		}
		return object{"type": "object", "properties": props, "required": names}
	}
	said := func(s string, failed bool) object {
		return object{"content": []any{object{"type": "text", "text": s}}, "isError": failed}
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Name            string
				Arguments       json.RawMessage
			}
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		var r object
		switch {
		case m.Method == "initialize":
			r = object{
				"protocolVersion": m.Params.ProtocolVersion, "capabilities": object{"tools": object{}},
				"serverInfo": object{"name": "tools", "version": "1"},
			}
		case m.Method == "tools/list":
			r = object{"tools": []any{
				object{
					"name": "look", "description": text("description", "Looks a town up."), "inputSchema": strs("name"),
					"annotations": object{"readOnlyHint": true, "openWorldHint": false},
				},
				object{"name": "send", "description": "Sends a mail.", "inputSchema": strs("to", "body")},
			}}
		case m.Params.Name == "look":
			problem := text("error", "")
			r = said(problem+text("result", ""), problem != "")
		case m.Params.Name == "send":
			f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err == nil {
				fmt.Fprintf(f, "%s\n", m.Params.Arguments)
				f.Close()
			}
			r = said("sent", false)
		default:
			r = object{}
		}
		b, _ := json.Marshal(object{"jsonrpc": "2.0", "id": m.ID, "result": r})
		os.Stdout.Write(append(b, '\n'))
	}
}
