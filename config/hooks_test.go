package config

import (
	"strings"
	"testing"
	"time"
)

func TestHooks(t *testing.T) {
	path := file(t, `
[[hooks]]
name = "guard"
on = "before_call"
tools = "bash | web_*"
run = "./guard.sh"
timeout = "5s"
env = ["GUARD_TOKEN"]

[run]
approve = "ask"

[[hooks]]
on = "finished"
url = "https://example.org/hook"
timeout = 3
`)
	cfg, _, err := load(Sources{File: path, Dir: t.TempDir(), Env: empty(t)})
	if err != nil || len(cfg.Hooks) != 2 {
		t.Fatalf("%+v, %v", cfg, err)
	}
	a, b := cfg.Hooks[0], cfg.Hooks[1]
	if a.Name != "guard" || a.On != "before_call" || a.Tools != "bash | web_*" || a.Timeout != 5*time.Second || a.Env[0] != "GUARD_TOKEN" ||
		a.Source.Line != 2 || !strings.HasPrefix(path, a.Dir) {
		t.Errorf("%+v", a)
	}
	if b.Name != "2" || b.URL != "https://example.org/hook" || b.Timeout != 3*time.Second || b.Source.Line != 13 {
		t.Errorf("%+v", b)
	}
}

func TestHooksThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"[[hooks]]\nrun='x'\n":                                                                   "hooks.on: is missing",
		"[[hooks]]\non='before_cal'\nrun='x'\n":                                                  "did you mean before_call?",
		"[[hooks]]\non='waiting'\n":                                                              "one of run, a command, and url",
		"[[hooks]]\non='waiting'\nrun='x'\nurl='http://a'\n":                                     "one of run, a command, and url",
		"[[hooks]]\non='waiting'\nurl='ftp://a'\n":                                               "begins with https://",
		"[[hooks]]\non='waiting'\nrun='x'\ntimeot='5s'\n":                                        "did you mean timeout?",
		"[[hooks]]\non='waiting'\nrun='x'\ntimeout='1h'\n":                                       "up to 10m",
		"[[hooks]]\non='waiting'\nrun='x'\ntimeout=-1\n":                                         "up to 10m",
		"[[hooks]]\non='waiting'\nrun=1\n":                                                       "hooks.run: allowed: text",
		"[[hooks]]\non='waiting'\nrun='x'\ntools='bash'\n":                                       "nothing else is about a tool",
		"[[hooks]]\non='waiting'\nrun='x'\nenv=['a b']\n":                                        "names of environment variables",
		"[[hooks]]\nname='a b'\non='waiting'\nrun='x'\n":                                         "letters, digits",
		"[[hooks]]\nname='a'\non='failed'\nrun='x'\n[[hooks]]\nname='a'\non='failed'\nrun='y'\n": "another hook is called a",
		"[hooks]\non='waiting'\n":                                                                "write [[hooks]]",
		"hooks = 7\n":                                                                            "write [[hooks]]",
		"hooks = [7]\n":                                                                          "write [[hooks]]",
	} {
		_, _, err := load(Sources{File: file(t, text), Dir: t.TempDir(), Env: empty(t)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
