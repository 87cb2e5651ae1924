//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
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

// The person is asked once about a server of theirs that was there before approvals were bound
// to what a command runs, or that they wrote into their own file, and not without a terminal.
func TestPersonIsAskedOnceAboutAServerOfTheirs(t *testing.T) {
	dir := write(t, "s", lookOnce, ".home/.config/openmanus/mcp.json", foundServer)
	cmd := exec.Command("openmanus", "run", "--model", "scripted:s", "--approve", "all", "look")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "OPENMANUS_SANDBOX_KIND=none")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "look got {}") {
		t.Fatalf("without a terminal it is used: %v\n%s", err, out)
	}
	for _, yes := range []bool{false, true} {
		s := sit(t, dir, "run", "--model", "scripted:s", "look")
		s.sees(`has the MCP server found, which starts with your rights:\r\n  mcpserver look=Looks\.`)
		s.sees(`program .*mcpserver`)
		s.sees(`as long as what it runs stays the same\? \[y/N\] `)
		if !yes {
			s.types("\r")
			s.sees(`the tools of found are left out`)
			s.sees(`unknown tool 'mcp_found_look'`)
		} else {
			s.types("y\r")
			s.sees(`\? May mcp_found_look run`)
			s.types("y\r")
		}
		s.sees(`Looked\.`)
		s.leaves(0)
	}
	s := sit(t, dir, "run", "--model", "scripted:s", "look")
	s.sees(`\? May mcp_found_look run`)
	s.types("y\r")
	s.sees(`Looked\.`)
	s.leaves(0)
	if strings.Contains(s.screen(), "stays the same") {
		t.Errorf("it is asked about again:\n%s", s.screen())
	}
}
