package config

import (
	"slices"
	"strings"
	"testing"
)

func TestWebhooks(t *testing.T) {
	cfg, _, err := load(Sources{File: file(t, "[[webhooks]]\nname = \"board\"\nurl = \"https://example.org/x\"\nevents = [\"waiting\", \"files\"]\nsecret_env = \"BOARD\"\n"+
		"[[webhooks]]\nurl = \"http://127.0.0.1:1/\"\nsecret_env = \"B\"\n"), Dir: t.TempDir(), Env: empty(t)})
	if err != nil || len(cfg.Webhooks) != 2 {
		t.Fatalf("%+v, %v", cfg, err)
	}
	a, b := cfg.Webhooks[0], cfg.Webhooks[1]
	if a.Name != "board" || a.URL != "https://example.org/x" || !slices.Equal(a.Events, []string{"waiting", "files"}) || a.SecretEnv != "BOARD" || a.Source.Line != 1 {
		t.Errorf("%+v", a)
	}
	if b.Name != "2" || b.Events != nil || b.Source.Line != 6 {
		t.Errorf("%+v", b)
	}
	const url, secret = "url='https://a'\n", "secret_env='S'\n"
	for text, want := range map[string]string{
		secret:                             "webhooks.url: allowed: an address",
		"url='a'\n" + secret:               "webhooks.url: allowed: an address",
		"url=7\n" + secret:                 "webhooks.url: allowed: text",
		url:                                "webhooks.secret_env: the name",
		url + "secret_env='a b'\n":         "webhooks.secret_env: the name",
		url + secret + "events=['done']\n": "webhooks.events: allowed: a list of waiting, finished",
		url + secret + "events='failed'\n": "webhooks.events: allowed: a list of waiting, finished",
		url + secret + "name='a b'\n":      "letters, digits",
		url + secret + "event=[]\n":        "did you mean events?",
		url + secret + "name='a'\n[[webhooks]]\nname='a'\n" + url + secret: "another webhook is called a",
	} {
		_, _, err := load(Sources{File: file(t, "[[webhooks]]\n"+text), Dir: t.TempDir(), Env: empty(t)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
