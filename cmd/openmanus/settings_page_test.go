//go:build unix

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettingsPage is a person who begins without a model, sets one up and looks at the
// settings: testdata/settings.mjs. The key is in the configuration file and nowhere else.
func TestSettingsPage(t *testing.T) {
	const key = "sk-page-test-0123456789abcdef"
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"wrong key: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello from the model\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer model.Close()
	config := "[[webhooks]]\nname = \"board\"\nurl = \"" + model.URL + "/board\"\nevents = [\"finished\"]\nsecret_env = \"BOARD_SECRET\"\n" + "[[hooks]]\non = \"waiting\"\nurl = \"https://hooks.example/T00/a-secret-path\"\n[[hooks]]\non = \"before_call\"\ntools = \"bash\"\nrun = \"cat <b>\"\n" +
		"[triggers.issues]\nsignature = \"github\"\nsecret_env = \"MODEL_KEY\"\nwhen = [\"action=opened\"]\n"
	dir := write(t, "mcp.json", `{"mcpServers":{"hostile":{"command":"/bin/false","args":["<img src=x onerror=pwned=1>"]}}}`)
	file := filepath.Join(dir, ".home", ".config", "openmanus", "config.toml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MODEL_URL", model.URL+"/v1")
	t.Setenv("MODEL_KEY", key)
	t.Setenv("BOARD_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	t.Setenv("ROOM", t.TempDir())
	s := serveTo(t, dir, "127.0.0.1:0", os.Stderr, "OLLAMA_HOST=127.0.0.1:9")
	visitWith(t, "settings.mjs", dir, s)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), key) && filepath.Base(path) != "config.toml" {
			t.Errorf("%s has the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
