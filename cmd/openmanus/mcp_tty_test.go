//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

const (
	foundServer = `{"mcpServers": {"found": {"command": "mcpserver", "args": ["look=Looks."]}}}`
	lookOnce    = `-- reply --
@call mcp_found_look {}
-- reply --
Looked.
`
)

func TestPersonApprovesAServer(t *testing.T) {
	dir := write(t, "s", lookOnce, "mcp.json", foundServer)
	s := sit(t, dir, "run", "--model", "scripted:s", "look")
	s.sees(`mcp\.json:1 wants to use the MCP server found:\r\n  mcpserver look=Looks\.`)
	s.sees(`It runs with your rights\. Approve it\? \[y/N\] `)
	s.types("y\r")
	s.sees(`\? May mcp_found_look run`) // its calls are asked about all the same
	s.types("y\r")
	s.sees(`look got \{\}`)
	s.sees(`Looked\.`)
	s.leaves(0)

	s = sit(t, dir, "run", "--model", "scripted:s", "look")
	s.sees(`\? May mcp_found_look run`)
	s.types("y\r")
	s.sees(`Looked\.`)
	s.leaves(0)
	if strings.Contains(s.screen(), "Approve it?") {
		t.Errorf("it was approved, and is asked about again:\n%s", s.screen())
	}
}

func TestPersonRefusesAServer(t *testing.T) {
	dir := write(t, "s", lookOnce, "mcp.json", foundServer)
	for range 2 { // a no is for one run
		s := sit(t, dir, "run", "--model", "scripted:s", "look")
		s.sees(`Approve it\? \[y/N\] `)
		s.types("\r")
		s.sees(`unknown tool 'mcp_found_look'`)
		s.sees(`Looked\.`)
		s.leaves(0)
	}
}

func TestTheQuestionOfAServerNamesTheSandbox(t *testing.T) {
	testbed.Need(t, "bwrap")
	dir := write(t, "s", lookOnce, "mcp.json", foundServer)
	t.Setenv("OPENMANUS_MCP_SANDBOX", "true")
	s := sit(t, dir, "run", "--sandbox", "auto", "--model", "scripted:s", "look")
	s.sees(`It runs in the sandbox\. Approve it\?`)
	s.types("n\r")
	s.leaves(0)
}
