//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// sayHello is what the server that we did not write answers.
const sayHello = `{"fixtures":[{"match":{"userMessage":"Call the tool report"},"response":{"content":"Hello."}},
	{"match":{"userMessage":"Who are you?"},"response":{"content":"I am the one that was set up."}}]}`

// A person answers three questions, and is at work. The key is not shown, and the
// file is theirs alone.
func TestSetup(t *testing.T) {
	url := llmtest.Aimock(t, sayHello)
	dir := t.TempDir()
	file := filepath.Join(dir, ".home", ".config", "openmanus", "config.toml")
	s := sit(t, dir, "setup")
	s.sees(`1\. Provider: openai, .*\[openai\]: `)
	s.types("nonsense\r")
	s.sees(`! there is no provider "nonsense"`)
	s.sees(`1\. Provider`)
	s.types(url + "/v1\r")
	s.sees(`2\. Key for http.*: `)
	s.types("sk-very-secret-key\r")
	s.sees(`3\. Model`)
	s.types("gpt-4.1\r")
	s.sees(`It works\. Saved in .*config\.toml, which only you can read\.`)
	s.leaves(exitFinished)
	if strings.Contains(s.screen(), "sk-very") {
		t.Errorf("the key is on the screen:\n%s", s.screen())
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), `api_key = "sk-very-secret-key"`) {
		t.Errorf("%s %v", data, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v", info.Mode())
	}

	s = sit(t, dir, "run", "Who are you?")
	s.sees(`I am the one that was set up\.`)
	s.leaves(exitFinished)

	s = sit(t, dir, "setup")
	s.sees(`Configured already: compat/gpt-4\.1, with the key from .*config\.toml`)
	s.sees(`Set up another model in its place\? \[y/N\] `)
	s.types("\r")
	s.sees(`Nothing was changed`)
	s.leaves(exitFinished)
	if after, err := os.ReadFile(file); err != nil || string(after) != string(data) {
		t.Errorf("the file was changed: %s, %v", after, err)
	}
}

// A key that is refused is asked for again; where nothing works, nothing is saved.
func TestSetupOfWhatDoesNotWork(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":{"message":"Incorrect API key."}}`, http.StatusUnauthorized)
	}))
	defer srv.Close()
	dir := t.TempDir()
	s := sit(t, dir, "setup")
	s.sees(`1\. Provider`)
	s.types(srv.URL + "/v1\r")
	s.sees(`2\. Key`)
	s.types("sk-wrong-key\r")
	s.sees(`3\. Model`)
	s.types("m\r")
	for range 2 {
		s.sees(`! .*Incorrect API key`)
		s.sees(`2\. Key`)
		s.types("sk-wrong-key\r")
	}
	s.sees(`Incorrect API key`)
	s.sees(`nothing was saved`)
	s.leaves(exitUsage)
	if _, err := os.Stat(filepath.Join(dir, ".home", ".config", "openmanus", "config.toml")); err == nil {
		t.Error("a key that does not work was saved")
	}

	s = sit(t, dir, "setup")
	s.sees(`1\. Provider`)
	s.types("anthropic\r")
	s.sees(`2\. Key for anthropic \(it is not shown\): `)
	s.types("\x03")
	s.sees(`nothing was saved`)
	s.leaves(exitInterrupted)
}

// Without a terminal, setup says what to do instead.
func TestSetupWithoutATerminal(t *testing.T) {
	d := deskAt(t, t.TempDir())
	if _, said, code := d.run("setup"); code != exitUsage || !strings.Contains(said, "OPENAI_API_KEY or ANTHROPIC_API_KEY") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// Where the system has a keyring, the key goes there, and the file names it.
func TestSetupWithAKeyring(t *testing.T) {
	url := llmtest.Aimock(t, sayHello)
	tools := write(t, "secret-tool", "#!/bin/sh\nif [ \"$1\" = store ]; then cat >\"$0.$6\"; else cat \"$0.$5\"; fi\n")
	if err := os.Chmod(filepath.Join(tools, "secret-tool"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	dir := t.TempDir()
	s := sit(t, dir, "setup")
	s.sees(`1\. Provider`)
	s.types(url + "/v1\r")
	s.sees(`2\. Key`)
	s.types("sk-in-the-keyring\r")
	s.sees(`3\. Model`)
	s.types("gpt-4.1\r")
	s.sees(`the key is in the keyring of your system`)
	s.leaves(exitFinished)
	data, err := os.ReadFile(filepath.Join(dir, ".home", ".config", "openmanus", "config.toml"))
	if err != nil || !strings.Contains(string(data), `api_key = "keyring:compat"`) || strings.Contains(string(data), "sk-in") {
		t.Errorf("%s %v", data, err)
	}
	s = sit(t, dir, "run", "Who are you?")
	s.sees(`I am the one that was set up\.`)
	s.leaves(exitFinished)
}
