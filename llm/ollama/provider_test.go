package ollama

import (
	"strings"
	"testing"
)

func TestFree(t *testing.T) {
	for _, c := range []struct {
		base, model string
		free        bool
	}{
		{"http://127.0.0.1:11434/v1", "qwen3:8b", true},
		{"http://localhost:11434/v1", "cloud", true},
		{"http://127.0.0.1:11434/v1", "qwen3-coder:480b-cloud", false},
		{"http://127.0.0.1:11434/v1", "glm-5:cloud", false},
		{"https://ollama.com/v1", "gpt-oss:120b", false},
		{"http://gpu:11434/v1", "qwen3:8b", false}, // it may be somebody's who sells it
	} {
		if got := free(c.base, c.model); got != c.free {
			t.Errorf("%s at %s is free: %v, want %v", c.model, c.base, got, c.free)
		}
	}
}

func TestOllamaHost(t *testing.T) {
	for host, want := range map[string]string{
		"":                       "http://127.0.0.1:11434/v1",
		"gpu":                    "http://gpu:11434/v1",
		"gpu:1234":               "http://gpu:1234/v1",
		"0.0.0.0":                "http://127.0.0.1:11434/v1",
		":8080":                  "http://127.0.0.1:8080/v1",
		"http://gpu":             "http://gpu:80/v1",
		"https://gpu/ollama/":    "https://gpu:443/ollama/v1",
		"http://gpu:11434/v1":    "http://gpu:11434/v1",
		"[::1]:11434":            "http://[::1]:11434/v1",
		"ftp://gpu":              "",
		"http://me:pw@gpu\x7f:1": "",
	} {
		got, err := baseURL(host)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v; want %q", host, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}
