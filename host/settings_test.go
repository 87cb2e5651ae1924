package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/served"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
)

// TestSetUp: a host that knows no model gets one that answers, which is saved with the comments
// of the file kept, and used from then on. One that does not answer changes nothing. The key is
// nowhere but in the file, and what is recorded does not have it.
func TestSetUp(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error":{"message":"wrong key %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer model.Close()
	p := newPlace(t, "")
	file := p.path("home/config/openmanus/config.toml")
	const before = "# mine\n[run]\nretries = 3 # few\n"
	p.write("home/config/openmanus/config.toml", before)
	from := config.Sources{Flags: map[string]string{"data-dir": p.path("data")}}
	env := host.Env{Dir: p.path("ws"), Lookup: func(name string) (string, bool) { v, ok := p.env[name]; return v, ok }}
	cfg, err := env.Load(from)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(cfg.DataDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	inner, err := host.New(host.Options{Env: env, Config: cfg, Store: db})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	h := served.Host{Host: inner, File: file, From: from}
	m := server.NewModel{BaseURL: model.URL + "/v1", Model: "small", Key: "sk-wrong-key-0123456789"}
	err = h.SetUp(t.Context(), m)
	if err == nil || strings.Contains(err.Error(), "sk-wrong") {
		t.Errorf("a wrong key: %v", err)
	}
	if data, _ := os.ReadFile(file); string(data) != before {
		t.Errorf("the file is %q", data)
	}
	m.Key = key
	if err := h.SetUp(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), "# mine\n[run]\nretries = 3 # few") || !strings.Contains(string(data), "small") {
		t.Errorf("%v, the file is %q", err, data)
	}
	s, err := h.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(s)
	if err != nil || strings.Contains(string(shown), key) || len(s.Models) == 0 || s.Models[0].Key != "set" || !strings.HasSuffix(s.Models[0].Model, "small") {
		t.Errorf("%v, %s", err, shown)
	}
	if got := inner.Secrets.Replace("it is " + key); strings.Contains(got, key) {
		t.Error("the key is recorded as it is")
	}
	if checked, err := h.CheckModel(t.Context(), "default"); err != nil || !checked.OK {
		t.Errorf("%+v, %v", checked, err)
	}
}
