package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// A server that lists its models, and says hello.
func newLister(t *testing.T, models ...string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var list []string
		for _, m := range models {
			list = append(list, fmt.Sprintf(`{"id":%q,"max_model_len":32768}`, m))
		}
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(list, ","))
		case r.URL.Path != "/v1/chat/completions":
			http.Error(w, `{"error":{"message":"Not Found"}}`, http.StatusNotFound)
		case r.Header.Get("Authorization") != "Bearer sk-in-quotes-1234":
			http.Error(w, `{"error":{"message":"a wrong key"}}`, http.StatusUnauthorized)
		default:
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// openmanusIn runs the built binary in an empty home with these variables.
func openmanusIn(t *testing.T, env []string, args ...string) (out, errs string, code int) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("openmanus", args...)
	cmd.Dir = dir
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(append(cmd.Env, "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "OLLAMA_HOST=127.0.0.1:1"), env...)
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// A sentence about a wrong address, key or name of a model names the setting and where it
// came from. A setting that can be used in spite of a mistake is used.
func TestBadEndpoints(t *testing.T) {
	testbed.Need(t, "bwrap")
	one, two := newLister(t, "only").URL, newLister(t, "first", "second").URL
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	gone := "http://" + closed.Addr().String() + "/v1"
	const key = "OPENAI_API_KEY=sk-in-quotes-1234"
	run := func(more ...string) []string { return append(append([]string{"run"}, more...), "say hello") }
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
		out  string
		want []string // in what it says
	}{
		"no model, and one is there": {[]string{key, "OPENAI_BASE_URL=" + one + "/v1"}, run(), 0, "hello\n", nil},
		"a key in quotes":            {[]string{`OPENAI_API_KEY="sk-in-quotes-1234"`, "OPENAI_BASE_URL=" + one + "/v1"}, run(), 0, "hello\n", nil},
		"no model, and two are there": {[]string{key, "OPENAI_BASE_URL=" + two + "/v1"}, run(), 2, "",
			[]string{"env OPENAI_BASE_URL: an endpoint is named", "it has first, second", "--model", "openmanus setup"}},
		"no model, and nobody is there": {[]string{key, "OPENAI_BASE_URL=" + gone}, run(), 2, "",
			[]string{"env OPENAI_BASE_URL: an endpoint is named", "it does not say which it has", "refused"}},
		"a path too many": {[]string{key, "OPENAI_BASE_URL=" + one + "/v1/chat/completions"}, run("--model", "compat/only"), 0, "hello\n", nil},
		"a path that is wrong": {[]string{key, "OPENAI_BASE_URL=" + one + "/api"}, run("--model", "compat/only"), 2, "",
			[]string{"no such model, or no such address", "the address is from env OPENAI_BASE_URL", "/v1 lists models"}},
		"a path that is wrong, and no model": {[]string{key, "OPENAI_BASE_URL=" + one}, run(), 2, "",
			[]string{"env OPENAI_BASE_URL: an endpoint is named", "keys found: OPENAI_API_KEY (for http://", "404", one + "/v1 lists models"}},
		"a key that is no value": {[]string{"OPENAI_API_KEY=${MYKEY}", "OPENAI_BASE_URL=" + one + "/v1"}, run("--model", "compat/only"), 2, "",
			[]string{"env OPENAI_API_KEY", "the variable MYKEY", `api_key_env = "MYKEY"`}},
		"a model that is not listed": {[]string{key, "OPENAI_BASE_URL=" + two + "/v1"}, run("--model", "compat/third"), 0, "hello\n",
			[]string{"does not list third; it has first, second"}},
		"a probe":                   {[]string{key, "OPENAI_BASE_URL=" + two + "/v1"}, []string{"models", "probe", "compat/first"}, 0, "window", nil},
		"a probe, and no model":     {[]string{key, "OPENAI_BASE_URL=" + one + "/v1"}, []string{"models", "probe"}, 0, "compat/only at ", nil},
		"a probe of one of two":     {[]string{key, "OPENAI_BASE_URL=" + two + "/v1"}, []string{"models", "probe"}, 2, "", []string{"env OPENAI_BASE_URL: an endpoint is named", "it has first, second"}},
		"a check, and no model":     {[]string{key, "OPENAI_BASE_URL=" + one + "/v1"}, []string{"models", "check"}, 0, "compat/only", nil},
		"nothing to probe":          {nil, []string{"models", "probe"}, 2, "", []string{"no model is configured"}},
		"a probe without an answer": {[]string{key, "OPENAI_BASE_URL=" + gone}, []string{"models", "probe", "compat/first"}, 2, "", []string{"does not say what it has", "refused", "env OPENAI_BASE_URL"}},
		"a probe of a wrong path":   {[]string{key, "OPENAI_BASE_URL=" + two + "/api"}, []string{"models", "probe", "compat/first"}, 2, "", []string{"404", "env OPENAI_BASE_URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := openmanusIn(t, c.env, c.args...)
			if code != c.code || !strings.Contains(out, c.out) {
				t.Errorf("exit %d, %q; want %d, %q\n%s", code, out, c.code, c.out, errs)
			}
			for _, w := range c.want {
				if !strings.Contains(errs, w) {
					t.Errorf("it does not say %q: %s", w, errs)
				}
			}
		})
	}
}
