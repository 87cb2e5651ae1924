package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/served"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
)

// administered returns a host that serves administrators, with its configuration in p.
func administered(t *testing.T, p *place) served.Host {
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
	t.Cleanup(func() { db.Close() })
	inner, err := host.New(host.Options{Env: env, Config: cfg, Store: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inner.Close() })
	return served.Host{Host: inner, File: p.path("home/config/openmanus/config.toml"), From: from}
}

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
	h := administered(t, p)
	m := server.NewModel{BaseURL: model.URL + "/v1", Model: "small", Key: "sk-wrong-key-0123456789"}
	err := h.SetUp(t.Context(), m)
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
	if got := h.Secrets.Replace("it is " + key); strings.Contains(got, key) {
		t.Error("the key is recorded as it is")
	}
	if checked, err := h.CheckModel(t.Context(), "default"); err != nil || !checked.OK {
		t.Errorf("%+v, %v", checked, err)
	}
}

// TestAnEndpointWithoutAModel: a key and an address in the environment, without a model, lead
// to a list of what is there. The one that is chosen works with that key, and is shown with
// what its endpoint has told of it and refused.
func TestAnEndpointWithoutAModel(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	there := `{"object":"list","data":[{"id":"first","max_model_len":4096},{"id":"second","max_model_len":16384}]}`
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); {
		case r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, there)
		case r.URL.Path != "/v1/chat/completions":
			http.NotFound(w, r)
		case strings.Contains(string(body), `"tools"`):
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"second does not support tools"}}`)
		default:
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	defer model.Close()
	p := newPlace(t, "")
	p.env["OPENAI_API_KEY"], p.env["OPENAI_BASE_URL"] = key, model.URL+"/v1"
	h := administered(t, p)
	s, err := h.Settings(t.Context())
	if err != nil || s.Found == nil || len(s.Models) != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if f := s.Found; f.Address != model.URL+"/v1" || f.Source != "env OPENAI_BASE_URL" || f.KeyFrom != "env OPENAI_API_KEY" || !slices.Equal(f.Models, []string{"first", "second"}) || f.Error != "" {
		t.Errorf("%+v", f)
	}
	if err := h.SetUp(t.Context(), server.NewModel{BaseURL: s.Found.Address, Model: "second"}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(h.File); err != nil || strings.Contains(string(data), key) || !strings.Contains(string(data), "OPENAI_API_KEY") {
		t.Errorf("%v, the file is %q", err, data)
	}
	if checked, err := h.CheckModel(t.Context(), "default"); err != nil || !checked.OK || checked.Tools != "no" {
		t.Errorf("%+v, %v", checked, err)
	}
	if s, err = h.Settings(t.Context()); err != nil || s.Found != nil || len(s.Models) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	var told []string
	for _, l := range s.Models[0].Learned {
		if l.At.IsZero() || l.From == "" || (l.Why == "") != (l.What == "window") {
			t.Errorf("%+v", l)
		}
		told = append(told, l.What+" "+l.Value)
	}
	if slices.Sort(told); !slices.Equal(told, []string{"tools false", "window 16384"}) {
		t.Errorf("it has learnt %q", told)
	}
}

// TestSetUpReachesSessions: a session that an old key let down goes on with the new one.
func TestSetUpReachesSessions(t *testing.T) {
	var accepted atomic.Value
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+accepted.Load().(string) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer model.Close()
	p := newPlace(t, "")
	p.env["OPENMANUS_SANDBOX_KIND"] = "none"
	h := administered(t, p)
	setUp := func(key string) {
		t.Helper()
		accepted.Store(key)
		if err := h.SetUp(t.Context(), server.NewModel{BaseURL: model.URL + "/v1", Model: "small", Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	ends := func(want openmanus.Status) {
		t.Helper()
		if err := h.Local.Wake(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if s, err := openmanus.Load(t.Context(), h.Store, "s"); err != nil || s.Status() != want {
			t.Fatalf("%v, it is %s, and not %s", err, s.Status(), want)
		}
	}
	say := func(id string) {
		t.Helper()
		if _, err := h.Store.Append(t.Context(), "s", *says(id, "Again.")); err != nil {
			t.Fatal(err)
		}
	}
	setUp("sk-the-first-0123456789")
	if _, err := h.Host.Open(t.Context(), "s", host.Opening{Spec: p.spec(h.Host, nil), Said: says("1", "Say hello.")}); err != nil {
		t.Fatal(err)
	}
	ends(openmanus.Finished)
	accepted.Store("sk-the-second-0123456789")
	say("2")
	ends(openmanus.Failed)
	setUp("sk-the-second-0123456789")
	say("3")
	ends(openmanus.Finished)
}

// TestUseModel: a profile becomes the model of new sessions, with comments kept, and a model
// that is set up afterwards takes its place.
func TestUseModel(t *testing.T) {
	p := newPlace(t, "")
	const file = "home/config/openmanus/config.toml"
	p.write(file, "# mine\n[llm]\nmodel = \"ollama/small\" # here\n[llm.fast]\nmodel = \"ollama/tiny\"\n[run]\nretries = 3 # few\n")
	h := administered(t, p)
	if err := h.UseModel(t.Context(), "absent"); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("one that there is not: %v", err)
	}
	if err := h.UseModel(t.Context(), "fast"); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(p.path(file))
	if want := "# mine\n[llm]\nmodel = \"ollama/small\" # here\n[llm.fast]\nmodel = \"ollama/tiny\"\n[run]\nmodel = \"fast\"\nretries = 3 # few\n"; string(data) != want {
		t.Errorf("the file is %q", data)
	}
	if m, err := h.Config.Model(""); err != nil || m.String() != "ollama/tiny" {
		t.Errorf("new sessions have %v, %v", m, err)
	}
}

// TestAgentsOfTheUser: an agent is written if the code that loads it takes it, and the error
// names what is wrong; a file that changed meanwhile is not lost.
func TestAgentsOfTheUser(t *testing.T) {
	p := newPlace(t, "")
	h := administered(t, p)
	ctx := t.Context()
	const good = "---\ndescription: Reads changes # shortly\ntools: [bash, grep]\n---\n\nYou review.\n"
	for name, c := range map[string]struct{ file, text, field, has string }{
		"approve":       {"reviewer.md", "---\napprove: never\n---\nYou review.", "text", "approve"},
		"tools":         {"reviewer.md", "---\ntools: [bahs]\n---\nYou review.", "tools", "bahs"},
		"agents":        {"reviewer.md", "---\nagents: [nobody]\n---\nYou review.", "agents", "nobody"},
		"model":         {"reviewer.md", "---\nmodel: nowhere/x\n---\nYou review.", "model", "nowhere"},
		"instructions":  {"reviewer.md", "---\nname: reviewer\n---\n", "text", "no instructions"},
		"other name":    {"reviewer.md", "---\nname: other\n---\nYou review.", "name", "other"},
		"a path":        {"../reviewer.md", good, "name", "no name"},
		"another kind":  {"reviewer.yaml", good, "name", "no name"},
		"a hidden file": {".reviewer.md", good, "name", "no name"},
	} {
		err := h.WriteAgent(ctx, c.file, server.AgentText{Text: c.text})
		if wrong := (*act.Error)(nil); !errors.As(err, &wrong) || wrong.Field != c.field || !strings.Contains(err.Error(), c.has) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := h.WriteAgent(ctx, "reviewer.md", server.AgentText{Text: good}); err != nil {
		t.Fatal(err)
	}
	got, err := h.ReadAgent(ctx, "reviewer.md")
	if err != nil || got.Text != good || got.Hash == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := h.WriteAgent(ctx, "reviewer.md", server.AgentText{Text: good + "More."}); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("over a file that was not read: %v", err)
	}
	c, err := h.Catalogue(ctx)
	if err != nil || !slices.ContainsFunc(c.Agents, func(a server.AgentInfo) bool { return a.Name == "reviewer" && slices.Contains(a.Tools, "grep") }) {
		t.Errorf("new sessions can have %+v, %v", c.Agents, err)
	}
	if err := h.RemoveAgent(ctx, "reviewer.md", got.Hash); err != nil {
		t.Error(err)
	}

	// A built-in agent's own text is what one begins with, and a broken file is shown.
	manus, err := h.ReadAgent(ctx, "manus.md")
	if err != nil || manus.Hash != "" || !strings.HasPrefix(manus.Text, "---\ndescription: ") {
		t.Errorf("%.80q, %v", manus.Text, err)
	}
	if err := h.WriteAgent(ctx, "manus.md", manus); err != nil {
		t.Error(err)
	}
	p.write("home/config/openmanus/agents/broken.md", "---\ntimeout: soon\n---\nx")
	all, err := h.OwnAgents(ctx)
	shown, _ := json.Marshal(all)
	for _, want := range []string{`"name":"manus"`, `"file":"manus.md","path":"`, `"file":"broken.md"`, "soon"} {
		if err != nil || !strings.Contains(string(shown), want) {
			t.Errorf("no %s in %s, %v", want, shown, err)
		}
	}
}

// TestServersOfTheUser: MCP servers are added, changed and removed in the user's file alone, and
// their secrets are known as such at once.
func TestServersOfTheUser(t *testing.T) {
	p := newPlace(t, "")
	const mine, found = "home/config/openmanus/mcp.json", "ws/mcp.json"
	p.write(mine, `{"theme":"dark","mcpServers":{}}`)
	p.write(found, `{"mcpServers":{"theirs":{"command":"/bin/false"}}}`)
	h := administered(t, p)
	if err := h.ReadServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, n := range map[string]server.NewServer{
		"neither": {Name: "db"}, "both": {Name: "db", URL: "http://127.0.0.1:9/mcp", Command: []string{"x"}},
		"an address": {Name: "db", URL: "ftp://example.org"}, "no program": {Name: "db", Command: []string{" "}},
	} {
		if wrong := (*server.FieldError)(nil); !errors.As(h.AddServer(ctx, n), &wrong) {
			t.Errorf("%s was added", name)
		}
	}
	db := server.NewServer{Name: "db", Command: []string{"/bin/false", "-v"}, Env: map[string]string{"DB_TOKEN": "very-secret-0123456789"}}
	if err := h.AddServer(ctx, db); err != nil {
		t.Fatal(err)
	}
	if err := h.AddServer(ctx, db); err == nil {
		t.Error("a name was taken twice")
	}
	if got := h.Secrets.Replace("very-secret-0123456789"); strings.Contains(got, "very") {
		t.Error("the secret is recorded as it is")
	}
	if _, err := h.TestServer(ctx, "db"); err == nil || strings.Contains(err.Error(), "very-secret") {
		t.Errorf("a program that ends at once: %v", err)
	}
	for name, c := range map[string]struct {
		add  server.NewServer
		want string
	}{
		"absent": {server.NewServer{Name: "absent", Command: []string{"/no/such/program"}}, "The program was not found."},
		"silent": {server.NewServer{Name: "silent", URL: "http://127.0.0.1:1/mcp"}, "Nothing answers at its address"},
	} {
		if err := h.AddServer(ctx, c.add); err != nil {
			t.Fatal(err)
		}
		if _, err := h.TestServer(ctx, name); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := h.RemoveServer(ctx, name); err != nil {
			t.Error(err)
		}
	}
	off := true
	if err := h.ChangeServer(ctx, "db", server.ServerChange{Disabled: &off, Without: []string{"drop", "delete"}}); err != nil {
		t.Error(err)
	}
	if err := h.ChangeServer(ctx, "db", server.ServerChange{With: []string{"drop"}}); err != nil {
		t.Error(err)
	}
	data, _ := os.ReadFile(p.path(mine))
	if flat := strings.Join(strings.Fields(string(data)), ""); !strings.Contains(flat, `"disabled":true,"deny":["delete"]`) && !strings.Contains(flat, `"deny":["delete"],"disabled":true`) || !strings.HasPrefix(flat, `{"theme":"dark"`) {
		t.Errorf("the file is %s", data)
	}
	s, err := h.Settings(ctx)
	if err != nil || len(s.Servers) != 2 || !s.Servers[0].Own || !s.Servers[0].Disabled || s.Servers[1].Own || s.Servers[1].Approved {
		t.Errorf("%+v, %v", s.Servers, err)
	}
	for what, err := range map[string]error{
		"changed": h.ChangeServer(ctx, "theirs", server.ServerChange{Disabled: &off}), "removed": h.RemoveServer(ctx, "theirs"),
		"started":  errors.Join(func() error { _, err := h.SignIn(ctx, "theirs"); return err }()),
		"approved": h.ApproveServer(ctx, "theirs", "another hash", ""),
	} {
		if err == nil {
			t.Errorf("a server of a workspace was %s", what)
		}
	}
	if err := h.RemoveServer(ctx, "db"); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(p.path(mine)); strings.Contains(string(data), "db") {
		t.Errorf("the file is %s", data)
	}
}

// TestDocuments: a document is Markdown by its parts, and a broken one an error.
func TestDocuments(t *testing.T) {
	h := administered(t, newPlace(t, ""))
	d, err := h.ReadDocument(t.Context(), "letter.rtf", []byte(`{\rtf1 Dear {\b reader}\par}`))
	if err != nil || d.Format == "" || len(d.Parts) != 1 || !strings.Contains(d.Parts[0].Text, "Dear") {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := h.ReadDocument(t.Context(), "x.docx", []byte("PK\x03\x04 broken")); err == nil {
		t.Error("a broken file was read")
	}
}
